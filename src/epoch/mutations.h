#ifndef QUIESCE_EPOCH_MUTATIONS_H_
#define QUIESCE_EPOCH_MUTATIONS_H_

// Each rule of the protocol has a switch that breaks it. They are off in every build that ships;
// a test build defines one of them and shows that a directed test then fails. Names are those of the
// checked model.

namespace quiesce::epoch::mutation {

#ifdef QUIESCE_MUTATE_NO_HEAVY  // rule 13: no fence between retiring and scanning (membarrier form)
inline constexpr bool kNoHeavy = true;
#else
inline constexpr bool kNoHeavy = false;
#endif
#ifdef QUIESCE_MUTATE_NO_REVALIDATE  // rule 2: a published pin is taken for valid
inline constexpr bool kNoRevalidate = true;
#else
inline constexpr bool kNoRevalidate = false;
#endif
#ifdef QUIESCE_MUTATE_NO_GEN  // rule 2: the state alone decides
inline constexpr bool kNoGen = true;
#else
inline constexpr bool kNoGen = false;
#endif
#ifdef QUIESCE_MUTATE_NO_STATE  // rule 2: the generation alone decides
inline constexpr bool kNoState = true;
#else
inline constexpr bool kNoState = false;
#endif
#ifdef QUIESCE_MUTATE_CREATE_STALE  // rule 3: birth is read before the registry is entered
inline constexpr bool kCreateStale = true;
#else
inline constexpr bool kCreateStale = false;
#endif
#ifdef QUIESCE_MUTATE_LAST_PLAIN  // rule 5: the last point may go backwards
inline constexpr bool kLastPlain = true;
#else
inline constexpr bool kLastPlain = false;
#endif
#ifdef QUIESCE_MUTATE_EVENT_FIRST  // rule 6: streams are looked at before the count is closed
inline constexpr bool kEventFirst = true;
#else
inline constexpr bool kEventFirst = false;
#endif
#ifdef QUIESCE_MUTATE_LEASE_SLOT  // rule 1: a run under a lease publishes its slot instead
inline constexpr bool kLeaseSlot = true;
#else
inline constexpr bool kLeaseSlot = false;
#endif
#ifdef QUIESCE_MUTATE_NO_BELL  // rule 14a: a withdrawal does not look at the bell
inline constexpr bool kNoBell = true;
#else
inline constexpr bool kNoBell = false;
#endif
#ifdef QUIESCE_MUTATE_BELL_ONE_LOOK  // rule 14b: no second look after ringing
inline constexpr bool kBellOneLook = true;
#else
inline constexpr bool kBellOneLook = false;
#endif
#ifdef QUIESCE_MUTATE_TRUST_BELL  // rule 14b: no second look when the bell was rung already
inline constexpr bool kTrustBell = true;
#else
inline constexpr bool kTrustBell = false;
#endif
#ifdef QUIESCE_MUTATE_NO_BELL_ON_FAIL  // rule 14c: a failed pin does not answer
inline constexpr bool kNoBellOnFail = true;
#else
inline constexpr bool kNoBellOnFail = false;
#endif
#ifdef QUIESCE_MUTATE_NO_CLAIM  // rule 15: two passes may destroy one incarnation
inline constexpr bool kNoClaim = true;
#else
inline constexpr bool kNoClaim = false;
#endif
#ifdef QUIESCE_MUTATE_NO_RELEASE_TRIGGER  // rule 16: the last count asks for no pass
inline constexpr bool kNoReleaseTrigger = true;
#else
inline constexpr bool kNoReleaseTrigger = false;
#endif
#ifdef QUIESCE_MUTATE_OWN_TICKET_ONLY  // rule 28: a wait covers its own clear alone
inline constexpr bool kOwnTicketOnly = true;
#else
inline constexpr bool kOwnTicketOnly = false;
#endif
#ifdef QUIESCE_MUTATE_WAIT_ON_SELF  // rule 31: a caller that holds back something retired waits
inline constexpr bool kWaitOnSelf = true;
#else
inline constexpr bool kWaitOnSelf = false;
#endif

}  // namespace quiesce::epoch::mutation

#endif  // QUIESCE_EPOCH_MUTATIONS_H_
