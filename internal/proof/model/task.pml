/*
 * The protocol by which workers hold, run and end tasks, as the engine and its
 * stores have it: claim, batch, uncertain commits, stop, death and takeover.
 *
 * One row per task. A batch is a transaction that locks its row at the beginning
 * and is guarded by fence and checkpoint_seq at its end. Nothing is assumed of
 * time: a worker may be declared dead at any moment, whether it is or not, and a
 * COMMIT may be lost, may happen with its answer lost, or may arrive long after
 * the worker has looked whether it had.
 *
 * Every loop spends something that is bounded, so every run ends. What must not
 * be is an assertion, or a run that ends with a task unended: a process that
 * waits for ever is an invalid end state.
 *
 * Each variant (-DV_...) breaks one rule, as some system has it. Each must be
 * refuted.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef BATCHES
#define BATCHES 3
#endif
#ifndef FAULTS
#define FAULTS 2      /* crashes, false deaths, cuts and late commits together */
#endif
#ifndef STOPS
#define STOPS 1       /* requests to stop or to delete task 0 */
#endif
#define CLAIMS 3      /* tries without a checkpoint, before a task is ERROR */
#ifndef IDS
#define IDS 9         /* identities; more than any run needs */
#endif
#define NOBODY 255

mtype = { QUEUED, HELD, COMPLETED, ERROR, REMOVED };

typedef Row {
	mtype status;
	byte fence;
	byte seq;
	byte by;              /* the identity that holds it */
	byte attempts;
	bool stop;            /* to end; in the row, for whoever comes */
	bool del;             /* to be removed as well */
	bool locked;          /* by the transaction of a batch that is open */
	bool late;            /* a COMMIT of such a transaction is on its way */
	bool sent;            /* a single guarded statement is on its way */
	byte lateFence;
	byte lateSeq;
	bool lateEnds;
	byte after;           /* ghost: batches committed after the stop was asked */
	byte newest;          /* ghost: the newest fence there was */
};

Row row[TASKS];
byte touched[TASKS * BATCHES];    /* ghost: effects of each batch */
bool enrolled[IDS];               /* the process row says alive */
bool crashed[IDS];                /* and really is not */
byte silent;                      /* how many of those the row still calls alive */
byte ids;
byte faults = FAULTS;
byte stops = STOPS;
byte ended;                       /* tasks that have */
#ifdef V_SEMAPHORE
byte running;
#endif

#define isEnded(t) (row[t].status == COMPLETED || row[t].status == ERROR || row[t].status == REMOVED)

/* The guard of every write. */
#if defined(V_NAME)
#define guarded(t, f, s) (row[t].status == HELD && row[t].by == me % WORKERS && row[t].seq == s)
#define holder(id) ((id) % WORKERS)
#elif defined(V_FIRST) || defined(V_CLOCK)
#define guarded(t, f, s) (true)
#define holder(id) (id)
#else
#define guarded(t, f, s) (row[t].status == HELD && row[t].fence == f && row[t].seq == s)
#define holder(id) (id)
#endif

#if defined(V_CLOCK)
#define guardedFirst(t, f, s) (true)
#else
#define guardedFirst(t, f, s) (row[t].status == HELD && row[t].fence == f && row[t].seq == s)
#endif

/* Does an end remove the row? An own end is one that nobody asked for. */
#ifdef V_VOID
#define removes(t, own) (row[t].del && !own)
#else
#define removes(t, own) (row[t].del)
#endif

/* finish makes a task's end. Nothing comes after an end, and a delete that was
 * accepted removes the row, however the task ends. */
inline finish(t, to, own)
{
	assert(!isEnded(t));
	if
	:: removes(t, own) -> row[t].status = REMOVED
	:: else -> row[t].status = to
	fi;
	assert(!row[t].del || row[t].status == REMOVED);   /* PTV-33 */
	row[t].by = NOBODY;
	ended++
}

/* effect is what a committed batch or end does. It runs in the database, in one
 * step, once its guard has held. */
inline effect(t, f, s, ends)
{
	assert(f == row[t].newest);              /* I5: no newer hold exists */
	if
	:: ends -> finish(t, COMPLETED, false)
	:: else ->
		touched[t * BATCHES + s]++;
		assert(touched[t * BATCHES + s] == 1);   /* I1: exactly once */
		row[t].seq = s + 1;
		row[t].attempts = 0;
		if
		:: row[t].stop -> row[t].after++; assert(row[t].after <= 1)   /* I8 */
		:: else
		fi;
		if
		:: s + 1 == BATCHES -> finish(t, COMPLETED, true)
		:: else
		fi
	fi
}

/* die is a crash: the process is gone, and its row does not say so if it was
 * thought to be alive. */
inline die()
{
	if
	:: enrolled[holder(me)] -> crashed[holder(me)] = true; silent++
	:: else
	fi
}

/* release gives a task back. */
inline release(t)
{
	row[t].status = QUEUED;
	row[t].by = NOBODY
}

/* A worker: one session at a time, and a new identity after each death. */
proctype Worker()
{
	byte me, t, f, s;
	bool ends, applied, stop;

born:
	atomic {
		assert(ids < IDS);               /* I11: nothing kills workers for ever */
		me = ids;
		ids++;
		if
		:: crashed[holder(me)] -> crashed[holder(me)] = false; silent--  /* only where names are used again */
		:: else
		fi;
		enrolled[holder(me)] = true
	}

claim:
	atomic {
		if
		:: ended == TASKS -> goto done
		:: !enrolled[holder(me)] -> goto born     /* the heartbeat is refused */
#ifdef V_SEMAPHORE
		:: enrolled[holder(me)] && running < WORKERS && row[0].status == QUEUED -> t = 0; running++
		:: enrolled[holder(me)] && running < WORKERS && TASKS > 1 && row[TASKS - 1].status == QUEUED -> t = TASKS - 1; running++
#else
		:: enrolled[holder(me)] && row[0].status == QUEUED && !row[0].locked && !row[0].late -> t = 0
		:: enrolled[holder(me)] && TASKS > 1 && row[TASKS - 1].status == QUEUED && !row[TASKS - 1].locked && !row[TASKS - 1].late -> t = TASKS - 1
#endif
		fi;
		row[t].status = HELD;
		row[t].fence++;
		row[t].newest = row[t].fence;
		row[t].by = holder(me);
#ifndef V_FAILCOUNT
		row[t].attempts++;
#endif
		f = row[t].fence;
		s = row[t].seq;
		stop = row[t].stop
	}
	if
	:: row[t].attempts > CLAIMS ->
		atomic {
			if
			:: guarded(t, f, s) -> finish(t, ERROR, true)
			:: else
			fi;
			goto over
		}
	:: else
	fi;

boundary:
	ends = stop;
	/* Begin: the row is locked, if it is still this hold's. */
	atomic {
		if
		:: guardedFirst(t, f, s) ->
#if !defined(V_FIRST) && !defined(V_CLOCK)
			row[t].locked = true
#else
			skip
#endif
		:: else ->
#ifdef V_DROP
			goto over
#else
			goto look
#endif
		fi
	}

#ifdef POISON
	/* What task 0 asks for kills whoever runs it. */
	if
	:: t == 0 && !ends ->
		atomic { row[t].locked = false; die(); goto born }
	:: else
	fi;
#endif

	/* The executor's work; then the last write and COMMIT. */
	if
	:: atomic { faults > 0 -> faults--; row[t].locked = false; die(); goto born }
	:: atomic { /* a statement alone, without a transaction, is on its way */
		faults > 0 && !row[t].sent && !row[t].late -> faults--;
		row[t].locked = false;
		row[t].sent = true; row[t].lateFence = f; row[t].lateSeq = s; row[t].lateEnds = ends;
		goto look
	   }
	:: atomic { /* COMMIT is on its way, the connection is not */
		!row[t].late && !row[t].sent && faults > 0 && guarded(t, f, s) -> faults--;
		row[t].locked = false;
		row[t].late = true; row[t].lateFence = f; row[t].lateSeq = s; row[t].lateEnds = ends;
		goto look
	   }
	:: atomic { /* cut before the server saw it */
		faults > 0 -> faults--; row[t].locked = false; goto look
	   }
	:: atomic { /* it happened, and nobody heard */
		faults > 0 && !row[t].late && guarded(t, f, s) -> faults--;
		row[t].locked = false;
		effect(t, f, s, ends);
		goto look
	   }
	:: atomic { /* as it should be; it waits for the lock of a late one */
		!row[t].late ->
		row[t].locked = false;
		if
		:: guarded(t, f, s) -> effect(t, f, s, ends); applied = true
		:: else -> applied = false
		fi;
		if
		:: !applied -> goto look
		:: isEnded(t) -> goto over
		:: else -> s++;
#ifndef V_SIGNAL
			stop = row[t].stop
#endif
		fi
	   }
	fi;
	applied = false;
	goto boundary;

look:
	/* Positions, on another connection: the row decides. */
	atomic {
		if
		:: row[t].status == HELD && row[t].fence == f ->
			s = row[t].seq;
#ifndef V_SIGNAL
			stop = row[t].stop
#else
			skip
#endif
		:: else -> goto over
		fi
	}
	goto boundary;

over:
#ifdef V_SEMAPHORE
	running--;
#endif
	goto claim;
done:
	skip
}

/* The network and the server: what is on its way arrives, or does not. */
active proctype Network()
{
	byte me = NOBODY;       /* no worker: for the guard by name */
	byte t;
	do
	:: ended == TASKS && !row[0].late && !row[0].sent && !row[TASKS - 1].late && !row[TASKS - 1].sent -> break
	:: atomic { row[0].late || row[0].sent -> t = 0; goto arrive }
	:: atomic { TASKS > 1 && (row[TASKS - 1].late || row[TASKS - 1].sent) -> t = TASKS - 1; goto arrive }
	od;
	goto done;
arrive:
	atomic {
		if
		:: row[t].late -> effect(t, row[t].lateFence, row[t].lateSeq, row[t].lateEnds)
		:: row[t].late                                           /* or it is rolled back */
#ifdef V_NAME
		:: row[t].sent && row[t].status == HELD && row[t].seq == row[t].lateSeq ->
			effect(t, row[t].lateFence, row[t].lateSeq, row[t].lateEnds)
#else
		:: row[t].sent && guarded(t, row[t].lateFence, row[t].lateSeq) ->
			effect(t, row[t].lateFence, row[t].lateSeq, row[t].lateEnds)
#endif
		:: row[t].sent                                           /* lost, or its guard does not hold */
		fi;
		row[t].late = false;
		row[t].sent = false
	}
	do
	:: ended == TASKS && !row[0].late && !row[0].sent && !row[TASKS - 1].late && !row[TASKS - 1].sent -> break
	:: atomic { row[0].late || row[0].sent -> t = 0; goto arrive }
	:: atomic { TASKS > 1 && (row[TASKS - 1].late || row[TASKS - 1].sent) -> t = TASKS - 1; goto arrive }
	od;
done:
	skip
}

#define abandoned(t) (row[t].status == HELD && !enrolled[row[t].by] && !row[t].locked && !row[t].late)

/* The reaper: any live worker is one. Who is silent is declared dead in the
 * same transaction that releases what it held; rows that are locked are stepped
 * over, and found again. */
active proctype Reaper()
{
	byte id, t;
	do
	:: ended == TASKS -> break
	:: atomic { /* silent, and rightly declared dead */
		silent > 0 ->
		id = 0;
		do
		:: crashed[id] -> break
		:: else -> id++
		od;
		crashed[id] = false;
		silent--;
		enrolled[id] = false;
#ifndef V_JOIN
		t = 0;
		do
		:: t < TASKS -> if :: abandoned(t) -> release(t) :: else fi; t++
		:: else -> break
		od;
#endif
		id = 0;
		t = 0
	   }
	:: atomic { /* silent, but not dead */
		faults > 0 && ids > 0 && enrolled[holder(ids - 1)] && !crashed[holder(ids - 1)] -> faults--;
		enrolled[holder(ids - 1)] = false
	   }
	:: atomic { faults > 0 && enrolled[0] && !crashed[0] -> faults--; enrolled[0] = false }
#if defined(V_JOIN)
	/* A join with the process rows: one that is gone is not found. */
#elif defined(V_REAP)
	/* First a list, then an update by id alone. */
	:: abandoned(0) -> atomic { row[0].status = QUEUED; row[0].by = NOBODY }
	:: TASKS > 1 && abandoned(TASKS - 1) -> atomic { row[TASKS - 1].status = QUEUED; row[TASKS - 1].by = NOBODY }
#else
	:: atomic { abandoned(0) -> release(0) }
	:: atomic { TASKS > 1 && abandoned(TASKS - 1) -> release(TASKS - 1) }
#endif
	od
}

/* The operator. */
active proctype Operator()
{
	do
	:: atomic { stops > 0 -> stops--;
		if
		:: isEnded(0)
		:: !isEnded(0) && row[0].status == QUEUED && row[0].fence == 0 -> row[0].stop = true; finish(0, COMPLETED, false)
		:: else -> row[0].stop = true
		fi
	   }
	:: atomic { stops > 0 -> stops--;
		if
		:: isEnded(0)                          /* its row is removed at once */
		:: !isEnded(0) && row[0].status == QUEUED && row[0].fence == 0 -> row[0].del = true; finish(0, COMPLETED, false)
		:: else -> row[0].stop = true; row[0].del = true
		fi
	   }
	:: break                                   /* nobody asks */
	od
}

init {
	byte i = 0;
	atomic {
		do
		:: i < TASKS -> row[i].status = QUEUED; row[i].by = NOBODY; i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < WORKERS -> run Worker(); i++
		:: else -> break
		od
	}
}
