/* Checked model of the epoch protocol: how a session is used, cleared and reclaimed.
 * The rules by number, the runs and the mutations are told in docs/reset.md; check.sh runs it all.
 *
 * What is here
 *   slots       one pin slot per reader (two for reader 0 with -DNEST); a slot names an
 *               incarnation; publish and withdraw are plain stores through an x86-TSO store
 *               buffer, or exchanges with -DSEQ_PIN
 *   sessions    L logical users, each with a current incarnation that every reader shares;
 *               a clear retires incarnations, the next use makes a fresh one
 *   clears      NP of the process (raise G, then mark) and NS of one session (mark only), in
 *               any order, and with -DNESTED_CLEAR one more inside a pin of reader 0
 *   leases      a count with a CLOSED bit; taken under a pin, handed to another thread that
 *               may release it while a run still goes on under it
 *   device      one in-order stream that all sessions share; kernels are numbered; an
 *               incarnation remembers the newest number recorded for it
 *   passes      PASSERS threads; one pass per trigger, never a free one: triggers are a clear,
 *               a rung bell answered at a withdrawal, the last count, and the poll of a ticket
 *               that only a stream holds
 * What is checked
 *   safety      nobody inside a destroyed incarnation; no kernel running in one; destroyed
 *               once; a use that begins after a clear never gets a cleared incarnation (P2);
 *               a lease asked for under a valid pin is never refused
 *   progress    no deadlock; when nothing can move any more, everything retired has been
 *               destroyed, by the triggers alone (-DSTALL: all but what the stalled pin is in,
 *               P4). The same claim as LTL formula `settles` with -DLIVE
 *
 * Configurations: R readers with ITER uses each (the second one by the handle of the first),
 * L, NP, NS, PASSERS; what a reader may do besides: -DDEV (kernels under a pin), -DLEASE
 * (leases; with DEV kernels under them), -DNEST (reader 0: two sessions, two slots; needs L=2),
 * -DSTALL (reader 1 stays inside for ever), -DCOUNT_PIN (reader 1 finds no free slot and counts).
 * -DSAFE_ONLY leaves the progress claim out, to see which mutations are unsafe too.
 *
 * Mutations, each of which must fail (with what, in brackets):
 *   NO_HEAVY NO_REVALIDATE NO_GEN CHECK_MOVED CREATE_STALE NO_BELL BELL_ONE_LOOK
 *   NO_BELL_ON_FAIL [NP=1]; TRUST_BELL [NP=2 PASSERS=2 SEQ_PIN]; NO_STATE [NS=1]; SCAN_LATE
 *   [NP=2; NP=1 NS=1]; COUNT_FIRST LEASE_SLOT NO_RELEASE_TRIGGER [LEASE]; EVENT_FIRST
 *   LATE_INFLIGHT LAST_PLAIN NO_POLL [DEV]; LATE_INFLIGHT_LEASE [LEASE DEV]; NO_CLAIM
 *   [PASSERS=2]; PLAIN_WITHDRAW [SEQ_PIN]; CLOSE_BLIND [COUNT_PIN]; MOVE_SLOT [L=2 NEST];
 *   GLOBAL_EPOCH [L=2 STALL]
 *
 * Why it is small. Each reduction keeps every behaviour that an assertion can see:
 *  1. A buffered store reaches memory when somebody looks. Nobody but a scan reads a slot, so a
 *     store that drains earlier commutes with everything up to the next scan of that slot. The
 *     scan therefore first drains as many of the owner's stores as it likes; locked instructions
 *     of the owner and heavy fences drain all. No process for the buffers is needed.
 *  2. The device, likewise: kernels finish when a pass looks, or when a poll finds all done.
 *  3. A heavy fence happens with the step before it (snapshot, or the ringing of the last bell).
 *     What a thread does in between may as well come after the fence: a store issued then is
 *     still buffered, and the scan may choose to see it all the same. A fence that drains all
 *     threads at its start promises least: what they store while it goes on stays buffered.
 *  4. Clears exclude each other by the registry mutex, own no state outside it, and their passes
 *     are served by others, so one process that makes all of them, in any order, has the same
 *     runs as one thread per clear. Taking the mutex commutes to the first change made under it,
 *     releasing it back to the last; one change, one step.
 *  5. Passes are decoupled from their triggers by one flag that any passer may serve: it covers
 *     "the trigger's own thread runs it at once" and every later moment. Passers are alike: the
 *     second works only beside the first.
 *  6. A step ends before the next access to something shared; what is local rides along. Ghosts
 *     are set in the step of the access that they watch; dead variables are zero. An exchange
 *     that only follows a load of the same word (answering the bell, uncounting and looking at
 *     the state) is one step with it.
 * Reading a slot and ringing its bell are two steps on purpose: with one, TRUST_BELL survives.
 */
#ifndef R
#define R 2
#endif
#ifndef L
#define L 1
#endif
#ifndef NP
#define NP 1
#endif
#ifndef NS
#define NS 0
#endif
#ifndef ITER
#define ITER 1
#endif
#ifndef PASSERS
#define PASSERS 1
#endif
#ifdef NESTED_CLEAR
#define NC (NP+NS+1)
#else
#define NC (NP+NS)
#endif
#ifdef NEST
#define NSLOT (R+1)
#else
#define NSLOT R
#endif
#define N (L*(NC+1))            /* incarnations that can ever be made        */
#define NONE 15
#define BIT(m,i) (((m)>>(i))&1)
#define RECORD(s) ((s) % R)     /* whose slot it is: the extra one is of reader 0 */

#if !defined(SEQ_PIN) || defined(PLAIN_WITHDRAW)
#define BUFFERED
#endif
#if defined(LEASE) || defined(COUNT_PIN)
#define COUNTS
#endif

byte G = 0;                     /* generation                                */
byte made = 0;                  /* incarnations made so far                  */
byte birth[N];
byte cur[L];                    /* current incarnation, under the mutex      */
bool reg = 0;                   /* registry mutex, held between two steps    */
byte retired = 0, claimed = 0, freed = 0;     /* sets of incarnations        */
byte slot[NSLOT];               /* slots as memory shows them                */
byte bell = 0;                  /* per record: "somebody waits for your slot" */
bool want = 0;                  /* a pass has been asked for                 */
bool busy0 = 0;                 /* passer 0 is in a pass                     */
byte using_[NSLOT];             /* ghost: the incarnation a thread is inside */
#ifdef BUFFERED
#ifdef NEST
#define DEEP 8
#else
#define DEEP 4
#endif
chan sb[R] = [DEEP] of { byte, byte };   /* store buffers: (slot, value)     */
#endif
#ifdef COUNTS
byte count[N];
byte closed = 0;
#endif
#ifdef LEASE
chan tok = [2] of { byte };     /* leases on their way to another thread     */
#endif
#ifdef DEV
byte tail = 0, done = 0;        /* kernels launched / finished on the stream */
byte last[N];                   /* what the incarnation remembers            */
byte lastk[N];                  /* ghost: its true last kernel               */
bool pollme = 0;                /* a ticket is held by a stream only         */
#endif

/* ---- Stores to slots. `di`, `dv` are scratch of the process. ---------------------------- */

/* a locked instruction of thread xT, or its share of a heavy fence */
inline drain(xT) {
#ifdef BUFFERED
  do :: nempty(sb[xT]) -> sb[xT]?di,dv; slot[di] = dv :: empty(sb[xT]) -> break od; di = 0; dv = 0
#else
  skip
#endif
}
/* before a scan reads a slot of record xT: any number of its stores may have drained */
inline leak(xT) {
#ifdef BUFFERED
  do :: nempty(sb[xT]) -> sb[xT]?di,dv; slot[di] = dv :: break od; di = 0; dv = 0
#else
  skip
#endif
}
inline buffer(xT,xS,xV) { assert(nfull(sb[xT])); sb[xT]!xS,xV }
#ifdef SEQ_PIN
#define PUBLISH(t,s,v) drain(t); slot[s] = v
#else
#define PUBLISH(t,s,v) buffer(t,s,v)
#endif
#if defined(SEQ_PIN) && !defined(PLAIN_WITHDRAW)
#define WITHDRAW(t,s) drain(t); slot[s] = NONE
#else
#define WITHDRAW(t,s) buffer(t,s,NONE)
#endif

/* membarrier in the pass; nothing in the exchange form */
inline fence() {
#if !defined(SEQ_PIN) && !defined(NO_HEAVY)
  drain(0);
#if R > 1
  drain(1);
#endif
#if R > 2
  drain(2);
#endif
#else
  skip
#endif
}

/* ---- Clears ------------------------------------------------------------------------------- */

/* the registry mutex is taken; the instant of the clear */
inline raise() { reg = 1; G++ }
#define MARK(l) if :: cur[l] != NONE -> retired = retired | (1<<cur[l]); cur[l] = NONE :: else fi
inline mark_all() {
#if L > 1
  atomic { MARK(0) };
  atomic { MARK(1); reg = 0; want = 1 }
#else
  atomic { MARK(0); reg = 0; want = 1 }
#endif
}

proctype clearer() {
  byte np = NP, ns = NS;
end:
  do
  :: atomic { np > 0 && reg == 0 -> np--; raise() }; mark_all()
  :: atomic { ns > 0 && reg == 0 -> ns--; MARK(0); want = 1 }        /* of one session */
  od
}

/* ---- A use: current incarnation, pin, unpin ---------------------------------------------- */

/* answer the bell: one exchange, only when a plain load shows it set (rules 14a, c, d) */
inline answer(xT) {
#ifndef NO_BELL
  if :: BIT(bell,xT) -> drain(xT); bell = bell & ~(1<<xT); want = 1 :: else fi
#else
  skip
#endif
}

/* current incarnation of xL, made when there is none; birth is read under the mutex (rule 3) */
inline get(xL,xH) {
  drain(t);
  if :: cur[xL] == NONE ->
#ifdef CREATE_STALE
        birth[made] = gs;
#else
        birth[made] = G;
#endif
        cur[xL] = made; made++
     :: else
  fi;
  xH = cur[xL];
  assert(birth[xH] == G)        /* what is older than G is on some ticket */
}

/* one count less; the last one of a retired incarnation asks for a pass (rule 16) */
inline uncount(xH) {
  count[xH]--; if :: count[xH] == 0 && BIT(retired,xH) -> want = 1 :: else fi
}

/* publish, then validate (rule 2); what fails goes to `failed`. Ghost `late`: a use that begins at
 * this instant may not get this incarnation any more */
#define BEGIN(h) late = (birth[h] < G || BIT(retired,h))
#ifndef NO_REVALIDATE
#define ENTER(s,h) using_[s] = h; assert(!BIT(freed,h)); assert(!late); late = 0         /* P2 */
#else
#define ENTER(s,h) using_[s] = h; assert(!BIT(freed,h)); late = 0
#endif
inline pin(xT,xS,xH) {
#ifdef COUNT_PIN
  if                                           /* no free slot: count-unless-CLOSED (rule 4) */
  :: atomic { xT == 1 -> BEGIN(xH); if :: BIT(closed,xH) -> goto refused :: else -> count[xH]++ fi }
  :: atomic { xT != 1 -> BEGIN(xH); PUBLISH(xT,xS,xH) }
  fi;
#else
#ifdef CHECK_MOVED
  atomic { BEGIN(xH); gs = G; PUBLISH(xT,xS,xH) };
#else
  atomic { BEGIN(xH); PUBLISH(xT,xS,xH) };
#endif
#endif
#if !defined(NO_REVALIDATE) && !defined(NO_GEN)
  if
#ifdef CHECK_MOVED
  :: gs == G
#else
  :: birth[xH] == G
#endif
  :: else -> goto failed
  fi;
#endif
  if
#if !defined(NO_REVALIDATE) && !defined(NO_STATE)
  :: BIT(retired,xH) -> goto failed
  :: atomic { !BIT(retired,xH) -> ENTER(xS,xH) }
#else
  :: atomic { ENTER(xS,xH) }
#endif
  fi
}
/* a withdrawal, then a look at the bell */
#define LEAVE(s,h) assert(!BIT(freed,using_[s])); using_[s] = NONE; FORGET(h)
#if defined(LEASE) || defined(LATE_INFLIGHT)
#define FORGET(h)
#else
#define FORGET(h) if :: k == ITER -> h = NONE :: else fi
#endif
inline unpin(xT,xS,xH) {
#ifdef COUNT_PIN
  if
  :: atomic { xT == 1 -> uncount(xH); LEAVE(xS,xH) }
  :: atomic { xT != 1 -> WITHDRAW(xT,xS); LEAVE(xS,xH) }; atomic { answer(xT) }
  fi
#else
  atomic { WITHDRAW(xT,xS); LEAVE(xS,xH) };
  atomic { answer(xT) }
#endif
}
/* a failed pin: the same; then try again, or hand the error up */
#define ANEW late = 0; h = NONE; if :: k-- :: skip fi
inline back_out(xT,xS) {
#ifdef COUNT_PIN
  if
  :: atomic { xT == 1 -> if :: !BIT(closed,h) -> uncount(h) :: else fi; ANEW }
  :: atomic { xT != 1 -> WITHDRAW(xT,xS); ANEW }; atomic { answer(xT) }
  fi
#else
  atomic { WITHDRAW(xT,xS); ANEW };
#ifndef NO_BELL_ON_FAIL
  atomic { answer(xT) }
#else
  skip
#endif
#endif
}

/* a kernel: enqueue, then remember the newest number (rule 5); locked instructions drain */
inline launch(xT,xH) {
  atomic { drain(xT); tail++; q = tail; lastk[xH] = tail; assert(!BIT(freed,xH)) };
#ifdef LAST_PLAIN
  atomic { last[xH] = q; q = 0 }
#else
  atomic { if :: q > last[xH] -> last[xH] = q :: else fi; q = 0 }
#endif
}

proctype reader(byte t) {
  byte h = NONE, h2 = NONE, l, k, di, dv, gs, q; bool late, leased;
end:
  do
  :: if
#ifdef CREATE_STALE
     :: atomic { k < ITER -> gs = G }; atomic { reg == 0 -> k++; get(l,h) }
#elif L > 1 && !defined(NEST)
     :: atomic { k < ITER && reg == 0 -> k++; if :: l = 0 :: l = 1 fi; get(l,h) }
#else
     :: atomic { k < ITER && reg == 0 -> k++; get(l,h) }
#endif
     :: atomic { k < ITER && h != NONE -> k++ }          /* by the handle of the use before */
     fi;
     pin(t,t,h);
#ifdef NESTED_CLEAR
     if
     :: t == 0 && k == 1 -> atomic { reg == 0 -> drain(t); raise() }; mark_all()
     :: else
     fi;
#endif
#ifdef STALL
     if
     :: t == 1 ->
end_stalled:
        false
     :: else
     fi;
#endif
#ifdef NEST
     if
     :: t == 0 ->
        atomic { reg == 0 -> get(1,h2) };
        pin(t,R,h2);
        if
        :: unpin(t,R,h2); unpin(t,t,h)         /* leave in either order */
        :: unpin(t,t,h);
#ifdef MOVE_SLOT
           atomic { buffer(t,t,h2); using_[t] = h2 };
           atomic { using_[R] = NONE; buffer(t,R,NONE) };
           unpin(t,t,h2)
#else
           unpin(t,R,h2)
#endif
        fi;
        h2 = NONE;
        goto end
     :: else
     fi;
#endif
#if defined(DEV) && !defined(LATE_INFLIGHT)
     if :: skip :: launch(t,h) fi;
#endif
#ifdef LEASE
     if
     :: skip
     :: atomic { drain(t); assert(!BIT(closed,h)); count[h]++; leased = 1 }
     fi;
#endif
     unpin(t,t,h);
#ifdef LATE_INFLIGHT
     launch(t,h);
#endif
#ifdef LEASE
     if
     :: leased -> leased = 0;
        if
        :: tok!h                               /* hand it over, no further run */
        :: /* a run under the lease, which another thread may release meanwhile (rule 1) */
#ifdef LEASE_SLOT
           atomic { PUBLISH(t,t,h); using_[t] = h; drain(t) }; tok!h; unpin(t,t,h)
#else
           atomic { count[h]++; using_[t] = h }; tok!h;
#if defined(DEV) && !defined(LATE_INFLIGHT_LEASE)
           if :: skip :: launch(t,h) fi;
#endif
           atomic { uncount(h); LEAVE(t,h) };
#ifdef LATE_INFLIGHT_LEASE
           launch(t,h)
#endif
#endif
        fi
     :: else
     fi;
#endif
#if defined(LEASE) || defined(LATE_INFLIGHT)
     atomic { if :: k == ITER -> h = NONE :: else fi }
#endif
  od;
failed:
#ifdef NEST
  if
  :: h2 != NONE ->
     atomic { WITHDRAW(t,R); late = 0; h2 = NONE };
     atomic { answer(t) };
     unpin(t,t,h);
     goto end
  :: else
  fi;
#endif
  back_out(t,t);
  goto end;
#ifdef COUNT_PIN
refused:
  atomic { ANEW };
  goto end
#endif
}

#ifdef LEASE
active proctype releaser() {
  byte h;
end:
  do
  :: atomic { tok?h ->
#ifndef NO_RELEASE_TRIGGER
       uncount(h);
#else
       count[h]--;
#endif
       h = 0 }
  od
}
#endif

#if defined(DEV) && !defined(NO_POLL)
/* somebody looks at a ticket that only a stream holds, after the stream has ended (rule 14e) */
active proctype poll() {
end:
  do
  :: atomic { pollme -> pollme = 0; done = tail; want = 1 }
  od
}
#endif

/* ---- Passes ------------------------------------------------------------------------------- */

/* what is local to a pass: nothing left, or the next incarnation to look at */
#define NEXT if \
     :: snap == 0 -> i = 0; if :: p == 0 -> busy0 = 0 :: else fi; goto end \
     :: else -> i = 0; do :: !BIT(snap,i) -> i++ :: else -> break od \
     fi
#ifdef NEST
#define IN_WAY(r) (BIT(hit,r) || (r == 0 && BIT(hit,R)))
#else
#define IN_WAY(r) BIT(hit,r)
#endif
#ifdef TRUST_BELL               /* somebody rang it already: let him look */
#define MINE(r) (!BIT(bell,r))
#else
#define MINE(r) (!BIT(rung,r))
#endif
proctype passer(byte p) {
  byte i, todo, snap, seen, hit, rung, di, dv; bool again, blk;
end:
  do
  :: atomic { want && (p == 0 || busy0) -> want = 0; if :: p == 0 -> busy0 = 1 :: else fi };
#ifdef SCAN_LATE
     atomic { fence() };
     atomic { reg == 0 -> snap = retired & ~claimed; NEXT; i = 0; todo = snap; snap = 0 };
#else
     /* first what this pass is about, then the heavy fence (rule 13) */
     atomic { reg == 0 -> snap = retired & ~claimed; fence(); NEXT; i = 0; todo = snap; snap = 0 };
#endif
#ifdef COUNT_FIRST
     do
     :: i < N ->
        atomic { if :: BIT(todo,i) && count[i] != 0 -> todo = todo & ~(1<<i) :: else fi; i++ }
     :: else -> i = 0; break
     od;
#endif
#ifdef EVENT_FIRST
     do
     :: i < N ->
        atomic {
          if
          :: BIT(todo,i) && done < last[i] -> todo = todo & ~(1<<i); pollme = 1
          :: else
          fi;
          i++ }
     :: else -> i = 0; break
     od;
#endif
scan:                                          /* then the slots, one step each */
     do
     :: atomic {
          leak(RECORD(i));
          if
          :: slot[i] != NONE &&
#ifdef GLOBAL_EPOCH
             1 ->
             do
             :: dv < N && birth[slot[i]] <= birth[dv] -> seen = seen | (1<<dv); dv++
             :: dv < N && birth[slot[i]] > birth[dv] -> dv++
             :: dv == N -> dv = 0; break
             od;
#else
             BIT(todo,slot[i]) -> seen = seen | (1<<slot[i]);
#endif
             hit = hit | (1<<i)
          :: else
          fi;
          i++;
          if :: i < NSLOT -> goto scan :: else -> i = 0 fi;
          /* what no slot named once is free of slots for good: a later publish fails */
          snap = snap | (todo & ~seen); todo = todo & seen; seen = 0;
          if
          :: hit == 0 -> rung = 0; NEXT; goto look
          :: else -> do :: !IN_WAY(i) -> i++ :: else -> break od; goto ring
          fi }
     od;
ring:                                          /* the bells of those in the way, one step each */
     do
     :: atomic {
          again = again || MINE(i);
          bell = bell | (1<<i); rung = rung | (1<<i);
          i++;
          do :: i < R && !IN_WAY(i) -> i++ :: else -> break od;
          if :: i < R -> goto ring :: else -> i = 0 fi;
#ifndef BELL_ONE_LOOK
          /* leave a slot in the way only after its bell, a fence and one more look (rule 14b) */
          if :: again -> fence(); again = 0; hit = 0; goto scan :: else fi;
#endif
          again = 0; rung = 0; hit = 0; todo = 0;
          NEXT;
          goto look }
     od;
look:                                          /* then one incarnation after another */
     do
     ::
#if defined(COUNTS) && !defined(COUNT_FIRST)
        /* close the count, from zero only (rule 4) */
#ifdef CLOSE_BLIND
        if :: count[i] != 0 -> blk = 1 :: else -> skip; closed = closed | (1<<i) fi;
#else
        atomic {
          if
          :: BIT(closed,i)
          :: !BIT(closed,i) && count[i] == 0 -> closed = closed | (1<<i)
          :: else -> blk = 1
          fi };
#endif
#endif
#if defined(DEV) && !defined(EVENT_FIRST)
        /* then the stream (rule 6) */
        if
        :: atomic { !blk ->
             do :: done < tail -> done++ :: break od;
             if :: done < last[i] -> blk = 1; pollme = 1 :: else fi }
        :: blk
        fi;
#endif
        /* then claim, and destroy (rule 15) */
#ifdef NO_CLAIM
        if
        :: !blk && !BIT(claimed,i) ->
           d_step { assert(!BIT(freed,i)); claimed = claimed | (1<<i); freed = freed | (1<<i) }
        :: else
        fi;
        atomic {
#else
        atomic {
          if
          :: !blk && !BIT(claimed,i) ->
             claimed = claimed | (1<<i); assert(!BIT(freed,i)); freed = freed | (1<<i);
             assert(using_[0] != i && using_[NSLOT/2] != i && using_[NSLOT-1] != i);
#ifdef DEV
             assert(done >= lastk[i]);
#endif
#ifdef COUNTS
             assert(count[i] == 0);
#endif
          :: else
          fi;
#endif
          snap = snap & ~(1<<i); blk = 0;
          NEXT;
          goto look }
     od
  od
}

#ifdef LIVE
/* weak fairness wanted (pan -a -f); the idle process makes every run infinite: a run that ends
 * would be no acceptance cycle */
bool beat = 0;
active proctype idle() { end: do :: beat = 1 - beat od }
ltl settles { <>[] ((retired & ~freed) == 0) }
#endif
/* nothing can move any more: what is left must be what somebody still holds */
proctype monitor() {
  byte held;
#ifdef STALL
  timeout -> atomic { held = (using_[1] != NONE -> 1<<using_[1] : 0) };
#else
  timeout;
#endif
#ifndef SAFE_ONLY
  atomic { assert((retired & ~freed & ~held) == 0); assert(!want && !reg); held = 0 }
#endif
}

init {
  byte t;
  atomic {
    t = 0; do :: t < NSLOT -> slot[t] = NONE; using_[t] = NONE; t++ :: else -> break od;
    t = 0; do :: t < L -> cur[t] = NONE; t++ :: else -> break od;
    t = 0; do :: t < R -> run reader(t); t++ :: else -> break od;
    run clearer();
    t = 0; do :: t < PASSERS -> run passer(t); t++ :: else -> break od;
#ifndef LIVE
    run monitor();
#endif
    t = 0
  }
}
