# What check.sh runs, sourced by it.

# set | name | model | search | MB allowed | definitions
#   set     quick, or full for those that only `check.sh full` runs
#   search  safe: assertions, deadlock, and "all is settled when nothing can move any more"
#           live: the LTL formula `settles` under weak fairness
configurations() {
  cat <<'END'
quick | one clear                               | epoch | safe |  500 | -DNP=1
quick | one clear, exchange                     | epoch | safe |  500 | -DNP=1 -DSEQ_PIN
quick | one session's clear                     | epoch | safe |  500 | -DNP=0 -DNS=1
quick | clear inside a pin and another          | epoch | safe |  500 | -DNP=1 -DNESTED_CLEAR
quick | two uses, by the old handle             | epoch | safe |  900 | -DNP=1 -DITER=2
quick | stalled pin                             | epoch | safe |  900 | -DNP=1 -DL=2 -DSTALL
quick | two sessions, two slots                 | epoch | safe |  900 | -DNP=1 -DL=2 -DNEST
quick | counted pin, two clears                 | epoch | safe |  900 | -DNP=1 -DNS=1 -DCOUNT_PIN
quick | two clears                              | epoch | safe |  900 | -DNP=2
quick | two clears, mixed, exchange             | epoch | safe |  900 | -DNP=1 -DNS=1 -DSEQ_PIN
quick | two passes                              | epoch | safe |  900 | -DNP=1 -DPASSERS=2
quick | two passes, exchange                    | epoch | safe |  900 | -DNP=1 -DPASSERS=2 -DSEQ_PIN
quick | lease                                   | epoch | safe |  500 | -DNP=1 -DLEASE
quick | device                                  | epoch | safe |  500 | -DNP=1 -DDEV
quick | lease and device, exchange              | epoch | safe |  900 | -DNP=1 -DDEV -DLEASE -DSEQ_PIN
full  | two uses, two passes                    | epoch | safe | 4000 | -DNP=1 -DPASSERS=2 -DITER=2
full  | two clears, mixed                       | epoch | safe | 1500 | -DNP=1 -DNS=1
full  | two clears, two uses                    | epoch | safe | 4000 | -DNP=2 -DITER=2
full  | lease and device                        | epoch | safe | 2000 | -DNP=1 -DDEV -DLEASE
full  | lease and device, two passes, exchange  | epoch | safe | 7900 | -DNP=1 -DDEV -DLEASE -DPASSERS=2 -DSEQ_PIN
full  | two sessions, two slots, two passes     | epoch | safe | 7900 | -DNP=1 -DL=2 -DNEST -DPASSERS=2
full  | two clears, two passes                  | epoch | safe | 7900 | -DNP=2 -DPASSERS=2
full  | two clears, two passes, exchange        | epoch | safe | 2000 | -DNP=2 -DPASSERS=2 -DSEQ_PIN
full  | two clears, mixed, two passes           | epoch | safe | 7900 | -DNP=1 -DNS=1 -DPASSERS=2
full  | two clears, mixed, two passes, exchange | epoch | safe | 7900 | -DNP=1 -DNS=1 -DPASSERS=2 -DSEQ_PIN
full  | progress                                | epoch | live | 2000 | -DNP=1
full  | progress, exchange                      | epoch | live | 2000 | -DNP=1 -DSEQ_PIN
full  | progress, device, exchange              | epoch | live | 2000 | -DNP=1 -DSEQ_PIN -DDEV
full  | progress, lease, exchange               | epoch | live | 2000 | -DNP=1 -DSEQ_PIN -DLEASE
quick | drop                                    | drop  | safe |  500 | -DITER=2
quick | drop, exchange                          | drop  | safe |  500 | -DITER=2 -DSEQ_PIN
quick | drop, counter first                     | drop  | safe |  500 | -DITER=2 -DCOUNTER_FIRST
quick | drop, counter first, exchange           | drop  | safe |  500 | -DITER=2 -DCOUNTER_FIRST -DSEQ_PIN
quick | drop, note slot first                   | drop  | safe |  500 | -DITER=2 -DSLOT_FIRST
quick | drop, stalled pin                       | drop  | safe |  500 | -DITER=2 -DSTALL
quick | drop, stalled pin, exchange             | drop  | safe |  500 | -DITER=2 -DSTALL -DSEQ_PIN
quick | drop inside a pin                       | drop  | safe |  500 | -DINSIDE -DDROPS=0
quick | drop inside a pin and another           | drop  | safe |  500 | -DINSIDE -DDROPS=1
quick | drop, pin of another session            | drop  | safe |  500 | -DNEST
quick | two drops                               | drop  | safe |  500 | -DDROPS=2
quick | drop, two passes                        | drop  | safe |  500 | -DPASSERS=2
quick | drop, lease                             | drop  | safe |  900 | -DLEASE
quick | drop, counted pin                       | drop  | safe |  500 | -DCOUNT_PIN -DITER=2
quick | drop, device                            | drop  | safe |  500 | -DDEV
quick | drop, clear                             | drop  | safe |  500 | -DINSIDE -DDROPS=0 -DCLEAR
full  | drop, clear, two passes                 | drop  | safe | 1500 | -DINSIDE -DDROPS=0 -DCLEAR -DPASSERS=2
full  | drop, clear, two passes, exchange       | drop  | safe | 1500 | -DINSIDE -DDROPS=0 -DCLEAR -DPASSERS=2 -DSEQ_PIN
full  | drop, clear, lease                      | drop  | safe | 1500 | -DINSIDE -DDROPS=0 -DCLEAR -DLEASE
full  | drop, clear, device                     | drop  | safe | 1500 | -DINSIDE -DDROPS=0 -DCLEAR -DDEV
full  | drop, lease, device                     | drop  | safe | 2000 | -DLEASE -DDEV
full  | drop, look counter first                | drop  | safe | 4000 | -DLOOK_BACKWARD -DSTALL -DITER=2 -DPASSERS=2
full  | two drops, two passes                   | drop  | safe | 7900 | -DDROPS=2 -DPASSERS=2
full  | two drops, two passes, exchange         | drop  | safe | 7900 | -DDROPS=2 -DPASSERS=2 -DSEQ_PIN
full  | drop, progress                          | drop  | live | 2000 | -DPASSERS=1
full  | drop, progress, exchange                | drop  | live | 2000 | -DSEQ_PIN
full  | drop, progress, lease, exchange         | drop  | live | 4000 | -DSEQ_PIN -DLEASE
END
}

# name, as the definition | model | search | error | definitions
#   unsafe  an assertion of safety, with the claim of progress left out
#   fresh   a use after the clear gets what was cleared (P2)
#   stuck   something is never destroyed
mutations() {
  cat <<'END'
NO_HEAVY             | epoch | safe | unsafe | -DNP=1
NO_REVALIDATE        | epoch | safe | unsafe | -DNP=1
NO_GEN               | epoch | safe | fresh  | -DNP=1
NO_STATE             | epoch | safe | unsafe | -DNP=0 -DNS=1
CHECK_MOVED          | epoch | safe | fresh  | -DNP=1
CHECK_MOVED NO_STATE | epoch | safe | unsafe | -DNP=1
CREATE_STALE         | epoch | safe | fresh  | -DNP=1
COUNT_FIRST          | epoch | safe | unsafe | -DNP=1 -DLEASE
COUNT_FIRST          | epoch | safe | unsafe | -DNP=1 -DLEASE -DDEV
EVENT_FIRST          | epoch | safe | unsafe | -DNP=1 -DDEV
EVENT_FIRST          | epoch | safe | unsafe | -DNP=1 -DLEASE -DDEV
LEASE_SLOT           | epoch | safe | unsafe | -DNP=1 -DLEASE
LATE_INFLIGHT        | epoch | safe | unsafe | -DNP=1 -DDEV
LATE_INFLIGHT_LEASE  | epoch | safe | unsafe | -DNP=1 -DLEASE -DDEV
LAST_PLAIN           | epoch | safe | unsafe | -DNP=1 -DDEV
NO_CLAIM             | epoch | safe | unsafe | -DNP=1 -DPASSERS=2
SCAN_LATE            | epoch | safe | unsafe | -DNP=2
SCAN_LATE            | epoch | safe | unsafe | -DNP=1 -DNS=1
MOVE_SLOT            | epoch | safe | unsafe | -DNP=1 -DL=2 -DNEST
CLOSE_BLIND          | epoch | safe | unsafe | -DNP=1 -DCOUNT_PIN
NO_BELL              | epoch | safe | stuck  | -DNP=1
BELL_ONE_LOOK       | epoch | safe | stuck  | -DNP=1
NO_BELL_ON_FAIL      | epoch | safe | stuck  | -DNP=1
TRUST_BELL           | epoch | safe | stuck  | -DNP=2 -DPASSERS=2 -DSEQ_PIN
PLAIN_WITHDRAW       | epoch | safe | stuck  | -DNP=1 -DSEQ_PIN
NO_POLL              | epoch | safe | stuck  | -DNP=1 -DDEV
NO_RELEASE_TRIGGER   | epoch | safe | stuck  | -DNP=1 -DLEASE
GLOBAL_EPOCH         | epoch | safe | stuck  | -DNP=1 -DL=2 -DSTALL
NO_BELL              | epoch | live | stuck  | -DNP=1
NO_BELL_ON_FAIL      | epoch | live | stuck  | -DNP=1
NO_POLL              | epoch | live | stuck  | -DNP=1 -DDEV
PLAIN_WITHDRAW       | epoch | live | stuck  | -DNP=1 -DSEQ_PIN
NO_FENCE             | drop  | safe | unsafe | -DITER=1
NOTE_FIRST           | drop  | safe | unsafe | -DITER=1
FREE_AT_ONCE         | drop  | safe | unsafe | -DITER=1
LOAD_FIRST           | drop  | safe | unsafe | -DITER=1
COUNTER_AT_PIN       | drop  | safe | unsafe | -DSEQ_PIN
ONE_COUNTER          | drop  | safe | unsafe | -DNEST
SKIP_OWN             | drop  | safe | unsafe | -DINSIDE -DDROPS=0
IGNORE_COUNTS        | drop  | safe | unsafe | -DLEASE
IGNORE_COUNTS        | drop  | safe | unsafe | -DCOUNT_PIN
EARLY_NUMBER         | drop  | safe | unsafe | -DLEASE
COPY_FRESH           | drop  | safe | unsafe | -DLEASE
IGNORE_STREAM        | drop  | safe | unsafe | -DDEV
EARLY_POINT          | drop  | safe | unsafe | -DDEV
NO_CLAIM             | drop  | safe | unsafe | -DPASSERS=2
NO_CLAIM             | drop  | safe | unsafe | -DINSIDE -DDROPS=0 -DCLEAR -DPASSERS=2
NO_BELL              | drop  | safe | stuck  | -DITER=1
BELL_ONE_LOOK       | drop  | safe | stuck  | -DITER=1
TRUST_BELL           | drop  | safe | stuck  | -DINSIDE -DDROPS=0 -DCLEAR -DPASSERS=2
TRUST_BELL           | drop  | safe | stuck  | -DDROPS=2 -DPASSERS=2
WAIT_EMPTY           | drop  | safe | stuck  | -DITER=2 -DSTALL
COUNTER_ONLY         | drop  | safe | stuck  | -DSEQ_PIN
COUNTER_ONLY         | drop  | safe | stuck  | -DCOUNTER_FIRST
PLAIN_WITHDRAW       | drop  | safe | stuck  | -DSEQ_PIN
NO_RELEASE_TRIGGER   | drop  | safe | stuck  | -DLEASE
NO_POLL              | drop  | safe | stuck  | -DDEV
NO_BELL              | drop  | live | stuck  | -DITER=1
NO_RELEASE_TRIGGER   | drop  | live | stuck  | -DLEASE
END
}
