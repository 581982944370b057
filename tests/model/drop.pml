/* Checked model of a graph dropped in a session that stays live (rule 11): the session is shared,
 * somebody is inside it at all times, and yet the graph is destroyed once those are gone who may
 * have got hold of it. Told in docs/reset.md; check.sh runs it all.
 *
 * What is here
 *   graphs      the session shows one graph at a time (`shown`); a drop unlinks it and shows the
 *               next one, as a hot swap does. A use loads `shown` once, after its pin
 *   slots       one per reader, naming the session or nothing, and one withdrawal counter per
 *               slot; both written through an x86-TSO store buffer (the slot by exchanges with
 *               -DSEQ_PIN, the counter by a plain store in both forms); with -DNEST reader 0 has
 *               a second slot, which names another session
 *   counts      leases and counted pins carry an age: a new one gets a number of its own, a copy
 *               the age of its original. One count per age stands for the list of them
 *   device      one in-order stream, numbered kernels, the newest number of the session
 *   drop        unlink; heavy fence; per slot note (slot, counter) if it names the session; then
 *               the graph is pending and a pass is asked for
 *   passes      PASSERS threads, per trigger: slots of the notes (moved on when the counter moved
 *               or the slot no longer names the session; else the bell, a fence, one more look);
 *               then, and only then, the number of the newest count is noted; when all counts so
 *               old have ended the newest number of the stream is noted; when the stream has come
 *               so far the graph is claimed and destroyed
 *   clear       with -DCLEAR the session is retired meanwhile: a pass destroys it with all graphs
 *               that are left, after slots, counts and stream
 * What is checked
 *   safety      nobody uses a destroyed graph, no kernel of it runs; each is destroyed once
 *   progress    when nothing can move any more, every dropped graph has been destroyed (-DSTALL:
 *               unless the stalled pin was noted); as LTL formula `settles` with -DLIVE
 *
 * Configurations: R readers with ITER uses, DROPS drops by a thread of their own (with -DINSIDE
 * one of them by reader 0 inside a pin), PASSERS; -DLEASE (lease taken under a pin, copied, both
 * released on other threads), -DCOUNT_PIN (reader 1 counts instead), -DDEV, -DNEST, -DCLEAR,
 * -DSTALL (reader 1 never leaves its last use). Either order of the two stores of a withdrawal
 * (-DCOUNTER_FIRST) and of the two loads of a note (-DSLOT_FIRST) is right.
 *
 * Mutations, each of which must fail:
 *   NO_FENCE NOTE_FIRST FREE_AT_ONCE LOAD_FIRST NO_BELL BELL_ONE_LOOK; COUNTER_AT_PIN
 *   COUNTER_ONLY PLAIN_WITHDRAW [SEQ_PIN]; COUNTER_ONLY [COUNTER_FIRST]; ONE_COUNTER [NEST];
 *   WAIT_EMPTY [STALL ITER=2]; SKIP_OWN [INSIDE DROPS=0]; IGNORE_COUNTS [LEASE; COUNT_PIN];
 *   EARLY_NUMBER COPY_FRESH NO_RELEASE_TRIGGER [LEASE]; IGNORE_STREAM EARLY_POINT NO_POLL
 *   [DEV]; NO_CLAIM [PASSERS=2; INSIDE DROPS=0 CLEAR PASSERS=2]; TRUST_BELL [INSIDE DROPS=0
 *   CLEAR PASSERS=2; DROPS=2 PASSERS=2]
 *
 * The reductions are those of epoch.pml: stores drain when a pass or a drop looks; kernels finish
 * when a pass looks; a fence happens with the step before it; local steps ride along.
 */
#ifndef R
#define R 2
#endif
#ifndef ITER
#define ITER 1
#endif
#ifndef DROPS
#define DROPS 1
#endif
#ifndef PASSERS
#define PASSERS 1
#endif
#ifdef INSIDE
#define NG (DROPS+2)            /* graphs: those dropped, and the one that stays */
#else
#define NG (DROPS+1)
#endif
#ifdef NEST
#define NSLOT (R+1)
#else
#define NSLOT R
#endif
#define NONE 15
#define BIT(m,i) (((m)>>(i))&1)
#define RECORD(s) ((s) % R)     /* whose slot it is: the extra one is of reader 0 */
#ifdef ONE_COUNTER
#define COUNTER(s) RECORD(s)
#else
#define COUNTER(s) (s)
#endif
#if defined(LEASE) || defined(COUNT_PIN)
#define COUNTS
#define AGES (R*ITER*2+1)
#endif

byte shown = 0;                 /* the graph that the session shows              */
bool mutex = 0;                 /* of the session: one drop unlinks at a time    */
byte pending = 0, freed = 0;    /* sets of graphs: dropped and noted / destroyed */
byte slot[NSLOT];               /* as memory shows it: 0, 1 the session, 2 another */
byte ctr[NSLOT];                /* withdrawals, as memory shows them             */
byte note[NG*NSLOT];            /* counter noted for (graph, slot), or NONE      */
chan sb[R] = [8] of { byte, byte };   /* store buffers: (slot or NSLOT + slot, value) */
byte bell = 0;
bool want = 0, busy0 = 0;
#ifdef STALL
byte stalled_at = NONE;         /* ghost: withdrawals of reader 1 when it stalls */
#endif
#ifdef COUNTS
byte newest = 0;                /* number of the newest lease or counted pin     */
byte count[AGES];               /* how many of each age                          */
byte number[NG];                /* noted for the graph, or NONE                  */
#endif
#ifdef LEASE
chan tok = [2*R] of { byte, byte };   /* (age, graph): leases on other threads   */
#endif
#ifdef DEV
byte tail = 0, done = 0;        /* kernels launched / finished                   */
byte last = 0;                  /* what the session remembers                    */
byte point[NG];                 /* noted for the graph, or NONE                  */
byte lastk[NG];                 /* ghost: the graph's true last kernel           */
bool pollme = 0;
#endif
#ifdef CLEAR
bool retired = 0;
#else
#define retired 0
#endif

/* ---- Stores ------------------------------------------------------------------------------- */
inline store(xT) {
  sb[xT]?di,dv; if :: di < NSLOT -> slot[di] = dv :: else -> ctr[di-NSLOT] = dv fi
}
inline drain(xT) { do :: nempty(sb[xT]) -> store(xT) :: empty(sb[xT]) -> break od; di = 0; dv = 0 }
inline leak(xT) { do :: nempty(sb[xT]) -> store(xT) :: break od; di = 0; dv = 0 }
inline buffer(xT,xS,xV) { assert(nfull(sb[xT])); sb[xT]!xS,xV }
#ifdef SEQ_PIN
#define PUBLISH(t,s,v) drain(t); slot[s] = v
#else
#define PUBLISH(t,s,v) buffer(t,s,v)
#endif
#if defined(SEQ_PIN) && !defined(PLAIN_WITHDRAW)
#define EMPTY(t,s) drain(t); slot[s] = 0
#else
#define EMPTY(t,s) buffer(t,s,0)
#endif
#define UP(t,s) n[COUNTER(s)]++; buffer(t,NSLOT+COUNTER(s),n[COUNTER(s)])
#ifdef COUNTER_AT_PIN
#define WITHDRAW(t,s) EMPTY(t,s)
#define ANNOUNCE(t,s,v) PUBLISH(t,s,v); UP(t,s)
#else
#define ANNOUNCE(t,s,v) PUBLISH(t,s,v)
#ifdef COUNTER_FIRST
#define WITHDRAW(t,s) UP(t,s); EMPTY(t,s)
#else
#define WITHDRAW(t,s) EMPTY(t,s); UP(t,s)
#endif
#endif
inline fence() {
#if !defined(SEQ_PIN) && !defined(NO_FENCE)
  drain(0);
#if R > 1
  drain(1);
#endif
#else
  skip
#endif
}
inline answer(xT) {
#ifndef NO_BELL
  if :: BIT(bell,xT) -> drain(xT); bell = bell & ~(1<<xT); want = 1 :: else fi
#else
  skip
#endif
}

/* ---- Counts: leases and counted pins ------------------------------------------------------ */
inline count_new(xA) { newest++; xA = newest; count[xA]++ }
inline uncount(xA) {
  count[xA]--;
#ifndef NO_RELEASE_TRIGGER
  if :: count[xA] == 0 && (pending & ~freed || retired) -> want = 1 :: else fi
#endif
}

/* ---- Drop: xG is unlinked, then noted ----------------------------------------------------- */
inline note_slots(xG,xOwn) {
  do
#ifdef SKIP_OWN
  :: i < NSLOT && RECORD(i) == xOwn -> i++
  :: atomic { i < NSLOT && RECORD(i) != xOwn -> leak(RECORD(i)) };
#else
  :: atomic { i < NSLOT -> leak(RECORD(i)) };
#endif
#ifdef SLOT_FIRST
     if
     :: slot[i] == 1 -> atomic { leak(RECORD(i)); note[xG*NSLOT+i] = ctr[COUNTER(i)]; i++ }
     :: slot[i] != 1 -> i++
     fi
#else
     c = ctr[COUNTER(i)];
     atomic { leak(RECORD(i)); if :: slot[i] == 1 -> note[xG*NSLOT+i] = c :: else fi; c = 0; i++ }
#endif
  :: i == NSLOT -> i = 0; break
  od
}
inline drop(xG,xOwn) {
#ifdef NOTE_FIRST
  atomic { mutex == 0 -> mutex = 1; xG = shown; fence() };
  note_slots(xG,xOwn);
  atomic { shown++; mutex = 0 };
#else
  atomic { mutex == 0 -> xG = shown; shown++; fence() };
  note_slots(xG,xOwn);
#endif
  atomic {
#ifdef EARLY_NUMBER
    number[xG] = newest;
#endif
#ifdef EARLY_POINT
    point[xG] = last;
#endif
#ifdef FREE_AT_ONCE
    freed = freed | (1<<xG);
#endif
    pending = pending | (1<<xG); want = 1; xG = NONE }
}

proctype dropper() {
  byte g = NONE, k, i, c, di, dv;
end:
  do
  :: k < DROPS -> k++; drop(g,R)
  od
}

/* ---- A use -------------------------------------------------------------------------------- */
#ifdef DEV
#define LAUNCH(t,g) if :: skip :: drain(t); tail++; last = tail; lastk[g] = tail fi
#else
#define LAUNCH(t,g) skip
#endif

proctype reader(byte t) {
  byte g = NONE, d = NONE, k, age, i, c, di, dv; byte n[NSLOT]; bool leased;
end:
  do
  :: /* pin */
#ifdef LOAD_FIRST
     atomic { k < ITER -> k++; g = shown };
     atomic { ANNOUNCE(t,t,1) };
#elif defined(COUNT_PIN)
     if
     :: atomic { k < ITER && t == 1 -> k++; count_new(age) }
     :: atomic { k < ITER && t != 1 -> k++; ANNOUNCE(t,t,1) }
     fi;
#else
     atomic { k < ITER -> k++; ANNOUNCE(t,t,1) };
#endif
#ifdef CLEAR
     if :: retired -> goto leave :: else fi;
#endif
     /* the graph to use */
#ifdef LOAD_FIRST
     atomic { assert(!BIT(freed,g)) };
#else
     atomic { g = shown; assert(!BIT(freed,g)) };
#endif
#ifdef NEST
     if
     :: t == 0 -> atomic { ANNOUNCE(t,R,2) }; atomic { WITHDRAW(t,R) }; atomic { answer(t) }
     :: else
     fi;
#endif
#ifdef INSIDE
     if :: atomic { t == 0 && k == 1 -> drain(t) }; drop(d,t) :: else fi;
#endif
#ifdef DEV
     atomic { assert(!BIT(freed,g)); LAUNCH(t,g) };
#endif
#ifdef LEASE
     if :: skip :: atomic { drain(t); count_new(age); leased = 1 } fi;
#endif
#ifdef STALL
     if
     :: t == 1 && k == ITER -> stalled_at = n[t];
end_stalled:
        false
     :: else
     fi;
#endif
leave:
     atomic {
       assert(g == NONE || !BIT(freed,g));
#ifdef COUNT_PIN
       if :: t == 1 -> uncount(age); age = 0 :: else -> WITHDRAW(t,t) fi
#else
       WITHDRAW(t,t)
#endif
#ifndef LEASE
       ; g = NONE
#endif
     };
     atomic { answer(t) };
#ifdef LEASE
     atomic { if :: leased -> tok!age,g :: else fi; leased = 0; age = 0; g = NONE }
#endif
  od
}

#ifdef LEASE
/* the leases' other threads: release, or copy, release the original, go on under the copy */
proctype holder() {
  byte a, b, g, di, dv;
end:
  do
  :: tok?a,g ->
     if
     :: atomic { assert(!BIT(freed,g)); uncount(a) }
     :: atomic {
#ifdef COPY_FRESH
          count_new(b)
#else
          b = a; count[b]++
#endif
        };
        atomic { assert(!BIT(freed,g)); uncount(a) };
        atomic { assert(!BIT(freed,g));
#ifdef DEV
          if :: skip :: tail++; last = tail; lastk[g] = tail fi;
#endif
          b = b };
        atomic { assert(!BIT(freed,g)); uncount(b) }
     fi;
     atomic { a = 0; b = 0; g = 0 }
  od
}
#endif

#if defined(DEV) && !defined(NO_POLL)
active proctype poll() {
end:
  do
  :: atomic { pollme -> pollme = 0; done = tail; want = 1 }
  od
}
#endif

#ifdef CLEAR
proctype clearer() { atomic { retired = 1; want = 1 } }
#endif

/* ---- Passes ------------------------------------------------------------------------------- */
#ifdef WAIT_EMPTY
#define MOVED(g) (s != 1)
#elif defined(COUNTER_ONLY)
#define MOVED(g) (c != note[(g)*NSLOT+i])
#else
#define MOVED(g) (s != 1 || c != note[(g)*NSLOT+i])
#endif
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
#define ALL 7                   /* in sets of what a pass is about: the session itself */
/* what is local to a pass: nothing left, or the next graph to look at, or the session */
#define NEXT if \
     :: snap == 0 -> i = 0; if :: p == 0 -> busy0 = 0 :: else fi; goto end \
     :: else -> i = 0; do :: !BIT(snap,i) -> i++ :: else -> break od \
     fi
proctype passer(byte p) {
  byte i, g, s, todo, snap, seen, hit, rung, c, di, dv; bool again, blk;
end:
  do
  :: atomic { want && (p == 0 || busy0) -> want = 0; if :: p == 0 -> busy0 = 1 :: else fi };
     atomic {
       snap = pending & ~freed;
#ifdef CLEAR
       if :: retired && freed != (2<<shown)-1 -> snap = snap | (1<<ALL) :: else fi;
       fence();
#endif
       NEXT; i = 0; todo = snap; snap = 0 };
scan:                                          /* the slots: what each names, then its counter */
     do
     :: atomic { leak(RECORD(i));
#ifdef LOOK_BACKWARD
          c = ctr[COUNTER(i)] };
        atomic { leak(RECORD(i)); s = slot[i];
#else
          s = slot[i] };
        atomic { leak(RECORD(i)); c = ctr[COUNTER(i)];
#endif
          g = 0;
          do
          :: g < NG && BIT(todo,g) && note[g*NSLOT+i] != NONE ->
             if
             :: MOVED(g) -> note[g*NSLOT+i] = NONE
             :: else -> seen = seen | (1<<g); hit = hit | (1<<i)
             fi;
             g++
          :: g < NG && !(BIT(todo,g) && note[g*NSLOT+i] != NONE) -> g++
          :: g == NG -> break
          od;
          if :: BIT(todo,ALL) && s == 1 -> seen = seen | (1<<ALL); hit = hit | (1<<i) :: else fi;
          g = 0; c = 0; s = 0;
          i++;
          if :: i < NSLOT -> goto scan :: else -> i = 0 fi;
          snap = snap | (todo & ~seen); todo = todo & seen; seen = 0;
          if
          :: hit == 0 -> rung = 0; NEXT; goto look
          :: else -> do :: !IN_WAY(i) -> i++ :: else -> break od; goto ring
          fi }
     od;
ring:                                          /* the bells of those in the way */
     do
     :: atomic {
          again = again || MINE(i);
          bell = bell | (1<<i); rung = rung | (1<<i);
          i++;
          do :: i < R && !IN_WAY(i) -> i++ :: else -> break od;
          if :: i < R -> goto ring :: else -> i = 0 fi;
#ifndef BELL_ONE_LOOK
          if :: again -> fence(); again = 0; hit = 0; goto scan :: else fi;
#endif
          again = 0; rung = 0; hit = 0; todo = 0;
          NEXT;
          goto look }
     od;
look:
     do
     :: i != ALL ->                            /* a graph that every noted slot has left */
#if defined(COUNTS) && !defined(IGNORE_COUNTS)
        atomic {
          if :: number[i] == NONE -> number[i] = newest :: else fi;
          do
          :: c < AGES -> blk = blk || (c <= number[i] && count[c] != 0); c++
          :: else -> c = 0; break
          od };
#endif
#if defined(DEV) && !defined(IGNORE_STREAM)
        if
        :: atomic { !blk -> do :: done < tail -> done++ :: break od;
             if :: point[i] == NONE -> point[i] = last :: else fi;
             if :: done < point[i] -> blk = 1; pollme = 1 :: else fi }
        :: blk
        fi;
#endif
#ifdef NO_CLAIM
        if
        :: !blk && !BIT(freed,i) -> atomic { assert(!BIT(freed,i)); freed = freed | (1<<i) }
        :: else
        fi;
        atomic {
#else
        atomic {
          if
          :: !blk && !BIT(freed,i) ->
             freed = freed | (1<<i);
#ifdef DEV
             assert(done >= lastk[i]);
#endif
          :: else
          fi;
#endif
          snap = snap & ~(1<<i); blk = 0;
          NEXT;
          goto look }
#ifdef CLEAR
     :: i == ALL ->                            /* the session: counts, stream, then its graphs */
#ifdef COUNTS
        atomic { do :: c < AGES -> blk = blk || count[c] != 0; c++ :: else -> c = 0; break od };
#endif
#ifdef DEV
        if
        :: atomic { !blk ->
             do :: done < tail -> done++ :: break od;
             if :: done < last -> blk = 1; pollme = 1 :: else fi }
        :: blk
        fi;
#endif
        i = 0;
        do
        :: atomic { !blk && i <= shown ->
#ifdef NO_CLAIM
             s = !BIT(freed,i) };
           atomic { if :: s -> assert(!BIT(freed,i)) :: else fi; s = 0;
#endif
             freed = freed | (1<<i);
#ifdef DEV
             assert(done >= lastk[i]);
#endif
             i++ }
        :: blk || i > shown -> break
        od;
        atomic { blk = 0; snap = 0; NEXT }
#endif
     od
  od
}

#ifdef LIVE
bool beat = 0;
active proctype idle() { end: do :: beat = 1 - beat od }
ltl settles { <>[] ((pending & ~freed) == 0 && (!retired || freed == (2<<shown)-1)) }
#endif
proctype monitor() {
  byte held, g;
  timeout;
  atomic {
#ifdef STALL
    do
    :: g < NG ->
       if
       :: note[g*NSLOT+1] != NONE && note[g*NSLOT+1] == stalled_at -> held = held | (1<<g)
       :: else
       fi;
       g++
    :: else -> break
    od;
#endif
#ifndef SAFE_ONLY
    assert((pending & ~freed & ~held) == 0);
    assert(!want && !mutex);
    assert(!retired || freed == (2<<shown)-1);
#endif
    held = 0; g = 0 }
}

init {
  byte t;
  atomic {
    t = 0; do :: t < NG*NSLOT -> note[t] = NONE; t++ :: else -> break od;
#ifdef COUNTS
    t = 0; do :: t < NG -> number[t] = NONE; t++ :: else -> break od;
#endif
#ifdef DEV
    t = 0; do :: t < NG -> point[t] = NONE; t++ :: else -> break od;
#endif
    t = 0; do :: t < R -> run reader(t); t++ :: else -> break od;
#if DROPS > 0
    run dropper();
#endif
#ifdef LEASE
    run holder();
#endif
#ifdef CLEAR
    run clearer();
#endif
    t = 0; do :: t < PASSERS -> run passer(t); t++ :: else -> break od;
#ifndef LIVE
    run monitor();
#endif
    t = 0
  }
}
