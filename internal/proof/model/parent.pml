/*
 * A parent waits for its children: how it waits, who wakes it, and how it ends.
 *
 * One parent, its row in taskkit_task_parent, and its children. What a worker does is cut into the
 * steps after which it may die: before and after each commit, between a commit and the
 * check of the parent, and between the read and the write of that check. A wake is one statement; its read
 * of the children and its write are two steps, since PostgreSQL checks the row again if it
 * has changed, and the children not. Identities and leases are task.pml's subject: here the holder of
 * a task is a fence, and a worker may be declared dead at any moment.
 *
 * Every run ends: whatever is repeated takes a claim, and claims are bounded by an
 * assertion. So a parent that is left asleep is a run that ends while it waits, an invalid
 * end state, and a parent that is woken again and again is an assertion. Hence a parent
 * whose condition holds is claimed in the end if every process that can go on does.
 *
 * Bounds and the broken rule are read from the environment when the search begins, so that one compiled
 * checker serves all searches.
 */

c_code {
	static int setting(const char *name, int otherwise)
	{
		const char *s = getenv(name);
		return s ? atoi(s) : otherwise;
	}
}

#define KIDS 3
#define NEVER 255         /* open_at_most: the parent does not wait */

/* Rules that may be broken. */
#define BEFORE 1          /* a child's end checks the parent before its commit */
#define TOGETHER 2        /* and in the transaction of the end */
#define OWN 3             /* the parent's own check is left out */
#define UNGUARDED 4       /* a wake is guarded by the status alone */
#define UNCHECKED 5       /* the session does not check the condition again */
#define TWICE 6           /* a wake leaves the reason, so that another takes effect */
#define UNREAD 7          /* an end that is found by read-back wakes nobody */
#define POLICY 8          /* the wait of an ending keeps what a failed child means */
#define DUE 9             /* a parent that is to stop is due at once, whatever it waits for */
#define UNSEEN 10         /* a stop that comes before the wait is committed does not make it due */
#define UNLOCKED 11       /* an end does not lock the row that new children lock */
#define STOPFIRST 12      /* children are stopped before the ending is recorded */
#define STOPONCE 13       /* who finds a recorded ending does not stop the children */
#define UNATTENDED 14     /* a request ends a parent that nobody serves, with its children open */
#define SEEN 15           /* failures that paused the parent pause it again */
#define DONE 16           /* Done ends the parent, though children are open */
#define UNTIED 17         /* the row of the family is written though the task's row was not */

byte broken;
/* Bounds. */
byte kids;                /* children there may be */
byte workers;
byte deaths;              /* deaths of workers, real ones and false ones */
byte cuts;                /* commits without an answer */
byte stops;               /* requests to stop the parent */
byte pulls;               /* requests that make the waiting parent due */
byte again;               /* retries of a failed child alone */
byte alone;               /* requests to stop one child */
byte strangers;           /* children submitted by another transaction than the batch's */
byte errors;              /* errors of the parent's own */
byte policy;              /* what a failed child means: continue, pause, fail */
bool endless;             /* children that only a stop ends */
bool group;               /* two children may end in one group commit */
bool reaper;              /* the reaper checks waiting parents */
byte claims;              /* more claims of the parent than any run needs */

#define CONTINUE 0
#define PAUSE 1
#define FAIL 2

mtype = { UNUSED, ABSENT, QUEUED, HELD, OK, FAILED, STOPPED };
mtype = { NOTHING, PAUSING, STOPPING };

/* The parent's row. */
mtype status = QUEUED;
mtype control = NOTHING;
byte fence, seq;
bool due = true;          /* not_before has come */
bool waits;               /* the reason is its children */
bool lost;                /* HELD, and its worker is dead */

/* Its row in taskkit_task_parent. */
byte waitFence, waitSeq;
byte atMost = NEVER;
bool minds;               /* on_failure is not continue */
byte seen;                /* failed children that it knew of when it began to wait */
mtype ending = NOTHING;   /* how it will end */
bool locked;

/* A write by which the parent waits, on its way from a session that may have gone on. */
bool sent;
byte sentFence, sentSeq;

typedef Child {
	mtype status;
	byte fence;
	bool lost;
	bool stop;
}
Child kid[KIDS];

/* Ghosts. */
byte woken = NEVER;       /* the wait that was woken last, by its fence */
bool regrown;             /* since the parent began to wait a child that had failed was retried */
bool grown;               /* since the session's check there are more children than it saw */
byte failed;              /* how often a child failed */
bool interrupted;         /* children were stopped by a session */

#define isOpen(i) (kid[i].status == QUEUED || kid[i].status == HELD)
#define open() (isOpen(0) + isOpen(1) + isOpen(2))
#define failures() ((kid[0].status == FAILED) + (kid[1].status == FAILED) + (kid[2].status == FAILED))
#define absent() (kid[0].status == ABSENT || kid[1].status == ABSENT || kid[2].status == ABSENT)
#define ended() (status == OK || status == FAILED || status == STOPPED)
#define mine() (status == HELD && fence == f && seq == s)

#define holdsWith(n) ((n) <= atMost || (minds && failures() > seen))
#define asleep() (status == QUEUED && waits && waitFence == fence && waitSeq == seq && atMost != NEVER)
#define guarded() (status == QUEUED && waits && (broken == UNGUARDED || (fence == wf && seq == ws)))

/* wakeRead is what a wake finds when it begins. */
inline wakeRead()
{
	atomic {
		wf = waitFence;
		ws = waitSeq;
		ok = asleep() && holdsWith(open())
	}
}

/* wakeEffect is what it does if it has found a parent to wake. */
inline wakeEffect()
{
	if
	:: ok && guarded() ->
		assert(woken != fence);                       /* never twice for one wait */
		assert(regrown || holdsWith(open()));         /* never for nothing */
		woken = fence;
		due = true;
		if
		:: broken != TWICE -> waits = false
		:: else
		fi
	:: else
	fi;
	ok = false;
	wf = 0;
	ws = 0
}

/* wait is the write by which the parent waits, with the row that says for what. */
inline wait(n, mind)
{
	status = QUEUED;
	waits = true;
	due = (control == STOPPING && ((ending == NOTHING && broken != UNSEEN) || broken == DUE));
	waitFence = fence;
	waitSeq = seq;
	atMost = n;
	minds = mind;
	seen = (broken == SEEN -> 0 : failures());
	regrown = false
}

/* finish ends the parent. */
inline finish(to)
{
	assert(open() == 0);                                  /* a parent ends after its children */
	assert(!ended());
	status = to
}

/* stopKid is a page of stopping: what has never begun ends in the statement. */
inline stopKid(i)
{
	if
	:: kid[i].status == QUEUED && kid[i].fence == 0 -> kid[i].status = STOPPED
	:: isOpen(i) && kid[i].fence > 0 -> kid[i].stop = true
	:: else
	fi
}

inline claimKid(i, what)
{
	kid[i].status = HELD;
	kid[i].fence++;
	what = kid[i].fence
}

/* endKid is the end of a child, if it is still this worker's. Whether it succeeds is
 * open. */
inline endKid(i, held)
{
	if
	:: kid[i].status != HELD || kid[i].fence != held
	:: kid[i].status == HELD && kid[i].fence == held && kid[i].stop -> kid[i].status = STOPPED
	:: kid[i].status == HELD && kid[i].fence == held && !kid[i].stop -> kid[i].status = OK
	:: kid[i].status == HELD && kid[i].fence == held && !kid[i].stop && (policy != CONTINUE || again > 0) -> kid[i].status = FAILED; failed++
	fi
}

/* A parent that is due goes before children that would keep every slot. */
#define first() (endless && status == QUEUED && due)
#define mayEnd(i) (!endless || kid[i].stop)
#define stillHeld(i, held) (kid[i].status == HELD && kid[i].fence == held)

inline abandon(i, held)
{
	if
	:: stillHeld(i, held) -> kid[i].lost = true
	:: else
	fi
}

proctype Worker()
{
	byte f, s;                /* the parent's, if it is the parent that is held */
	byte c = NEVER, d = NEVER, cf, df;  /* children that are held, and their fences */
	byte wf, ws;
	bool ok;
	byte n;
	bool atEnd, tx;

idle:
	atomic {
		f = 0; s = 0; c = NEVER; d = NEVER; cf = 0; df = 0; n = 0; atEnd = false; tx = false; ok = false; wf = 0; ws = 0
	}
end_idle:
	atomic {
		if
		:: status == QUEUED && due && control != PAUSING ->
			assert(fence < claims);               /* it is not woken again and again */
			status = HELD;
			fence++;
			due = false;
			waits = false;
			f = fence;
			s = seq;
			goto session
		:: kid[0].status == QUEUED && !first() -> c = 0
		:: kid[1].status == QUEUED && !first() -> c = 1
		:: kid[2].status == QUEUED && !first() -> c = 2
		fi;
		claimKid(c, cf);
		if
		:: group && c < 1 && kid[1].status == QUEUED -> d = 1; claimKid(d, df)
		:: group && c < 2 && kid[2].status == QUEUED -> d = 2; claimKid(d, df)
		:: true
		fi
	}

	/* Children, one or two of them. */
	if
	:: broken == BEFORE -> wakeRead(); atomic { wakeEffect() }
	:: broken == TOGETHER -> atomic {
		wf = waitFence; ws = waitSeq;
		ok = asleep() && holdsWith(open() - stillHeld(c, cf))
	   }
	:: else
	fi;
	atomic {
		if
		:: deaths > 0 -> deaths--;
			abandon(c, cf);
			if
			:: d != NEVER -> abandon(d, df)
			:: else
			fi;
			goto idle
		:: first() && stillHeld(c, cf) && !kid[c].stop ->
			/* Its time is up, and another task is due. */
			kid[c].status = QUEUED;
			if
			:: d != NEVER && stillHeld(d, df) -> kid[d].status = QUEUED
			:: else
			fi;
			goto idle
		:: mayEnd(c) || !stillHeld(c, cf) ->
			endKid(c, cf);
			if
			:: broken == TOGETHER -> wakeEffect()
			:: else
			fi;
			/* The other one ends in the same group commit, or is given back. */
			if
			:: d != NEVER && (mayEnd(d) || !stillHeld(d, df)) && broken != TOGETHER -> endKid(d, df)
			:: d != NEVER && stillHeld(d, df) -> kid[d].status = QUEUED
			:: d == NEVER || !stillHeld(d, df)
			fi
		fi;
		if
		:: broken == BEFORE || broken == TOGETHER -> goto idle
		:: cuts > 0 -> cuts--;                 /* it happened, and nobody heard: it is read back */
			if
			:: broken == UNREAD -> goto idle
			:: else
			fi
		:: broken != BEFORE && broken != TOGETHER
		fi
	}
	goto wake;

session:
	/* The family is read. */
	if
	:: atomic { deaths > 0 -> deaths--; goto die }
	:: atomic {
		!(status == HELD && fence == f) -> goto wake
	   }
	:: atomic {
		status == HELD && fence == f ->
		grown = false;
		s = seq;
		n = open();
		if
		:: ending != NOTHING || control == STOPPING -> goto stopping
		:: else
		fi;
		if
		:: atMost != NEVER && waitSeq == seq && minds && failures() > seen && policy == FAIL -> atEnd = true; goto stopping
		:: atMost != NEVER && waitSeq == seq && minds && failures() > seen && policy == PAUSE -> goto pause
		:: atMost != NEVER && waitSeq == seq && n > atMost && !(minds && failures() > seen) && broken != UNCHECKED -> goto waitAgain
		:: else
		fi
	   }
	fi;
	n = 0;

	/* Execute. */
	atomic {
		if
		:: mine() ->
			assert(grown || atMost == NEVER || waitSeq != seq || open() <= atMost);
			assert(!interrupted)
		:: else
		fi
	}
	if
	:: atomic { deaths > 0 -> deaths--; goto die }
	:: atomic { errors > 0 -> errors--; atEnd = true; goto stopping }
	:: true
	fi;
	/* The last statements of its batch: the row of the family is locked, then the
	 * children are counted. */
	atomic {
		!locked || broken == UNLOCKED;
		tx = (broken != UNLOCKED);
		locked = locked || tx;
		n = open()
	}
	atomic {
		if
		:: tx -> locked = false; tx = false
		:: else
		fi;
		if
		:: deaths > 0 -> deaths--; goto die
		:: cuts > 0 -> cuts--; goto session            /* cut before the server saw it */
		:: cuts > 0 && mine() && !sent && !absent() && n > 0 ->
			/* A statement alone, on its way. */
			cuts--; sent = true; sentFence = f; sentSeq = s; goto session
		:: !mine() -> goto session
		:: mine() && absent() ->
			/* More children, one at least, in the same transaction. */
			n = 0;
			do
			:: n < KIDS && kid[n].status == ABSENT -> kid[n].status = QUEUED; break
			:: n < KIDS && kid[n].status != ABSENT -> n++
			:: n == KIDS -> break
			od;
			do
			:: n < KIDS && kid[n].status == ABSENT -> kid[n].status = QUEUED; n++
			:: n < KIDS && kid[n].status != ABSENT -> n++
			:: break
			od;
			seq++;
			if
			:: wait(0, policy != CONTINUE)
			:: wait(1, policy != CONTINUE)
			fi
		:: mine() && !absent() && n > 0 && broken != DONE -> seq++; wait(0, policy != CONTINUE)
		:: mine() && !absent() && (n == 0 || broken == DONE) -> finish(OK); goto idle
		fi;
		n = 0
	}
	goto waiting;

pause:
	n = 0;
	atomic {
		!locked;
		if
		:: deaths > 0 -> deaths--; goto die
		:: !mine() -> goto session
		:: mine() ->
			n = atMost;
			wait(n, true);
			if
			:: control == NOTHING -> control = PAUSING
			:: else
			fi;
			n = 0
		fi
	}
	goto waiting;

waitAgain:
	n = 0;
	atomic {
		!locked;
		if
		:: deaths > 0 -> deaths--; goto die
		:: !mine() -> goto session
		:: mine() -> n = seen; ok = minds; wf = regrown; wait(atMost, ok); seen = n; regrown = wf; n = 0; ok = false; wf = 0
		fi
	}
	goto waiting;

stopping:
	n = 0;
	/* The ending is recorded, then the children are stopped, in pages. */
	atomic {
		if
		:: deaths > 0 -> deaths--; goto die
		:: !mine() -> goto session
		:: mine() && ending != NOTHING && broken == STOPONCE -> goto ends
		:: mine() && (ending != NOTHING || broken == STOPFIRST)
		:: mine() && ending == NOTHING && !locked && broken != STOPFIRST -> ending = (atEnd -> PAUSING : STOPPING)
		fi
	}
	do
	:: n < kids -> atomic {
		if
		:: deaths > 0 -> deaths--; goto die
		:: isOpen(n) -> stopKid(n); interrupted = interrupted || control != STOPPING; n++
		:: !isOpen(n) -> n++
		fi
	   }
	:: n == kids -> break
	od;
	if
	:: broken == STOPFIRST -> atomic {
		if
		:: deaths > 0 -> deaths--; goto die
		:: !mine() -> goto session
		:: mine() && !locked -> ending = (atEnd -> PAUSING : STOPPING)
		fi
	   }
	:: else
	fi;
ends:
	n = 0;
	atEnd = false;
	/* It waits for those that are open, or ends. */
	atomic {
		!locked || broken == UNLOCKED;
		tx = (broken != UNLOCKED);
		locked = locked || tx;
		n = open()
	}
	atomic {
		if
		:: tx -> locked = false; tx = false
		:: else
		fi;
		if
		:: deaths > 0 -> deaths--; goto die
		:: !mine() -> goto session
		:: mine() && n > 0 ->
			n = seen;
			wait(0, broken == POLICY && policy != CONTINUE);
			if
			:: broken == POLICY -> seen = n
			:: else
			fi;
			n = 0
		:: mine() && n == 0 ->
			if
			:: ending == PAUSING -> finish(FAILED)
			:: else -> finish(STOPPED)
			fi;
			goto idle
		fi
	}

waiting:
	/* The parent's wait is committed. */
	atomic {
		if
		:: broken == OWN -> goto idle
		:: cuts > 0 -> cuts--;                 /* nobody heard of it: the row is read */
			if
			:: broken == UNREAD -> goto idle
			:: else -> goto session
			fi
		:: broken != OWN
		fi
	}
wake:
	/* After a commit, and not before. */
	if
	:: atomic { deaths > 0 -> deaths--; goto idle }
	:: wakeRead()
	fi;
	if
	:: atomic { !ok -> goto idle }
	:: atomic { ok -> wakeEffect() }
	:: atomic { ok && deaths > 0 -> deaths--; goto idle }
	fi;
	goto idle;

die:
	atomic {
		if
		:: status == HELD && fence == f -> lost = true
		:: else
		fi;
		goto idle
	}
}

inline release()
{
	status = QUEUED;
	due = true;
	waits = false;
	lost = false
}

/* The reaper releases what the dead held, declares dead who is not, and checks the
 * parents that wait. */
proctype Reaper()
{
	byte wf, ws, i;
	bool ok;
end:
	do
	:: atomic { status == HELD && lost -> release() }
	:: atomic { status == HELD && !lost && deaths > 0 -> deaths--; release() }
	:: atomic { kid[0].status == HELD && kid[0].lost -> kid[0].status = QUEUED; kid[0].lost = false }
	:: atomic { kid[1].status == HELD && kid[1].lost -> kid[1].status = QUEUED; kid[1].lost = false }
	:: atomic { kid[2].status == HELD && kid[2].lost -> kid[2].status = QUEUED; kid[2].lost = false }
	:: atomic { kid[0].status == HELD && !kid[0].lost && deaths > 0 -> deaths--; kid[0].status = QUEUED }
	:: atomic { reaper && asleep() && holdsWith(open()) -> wf = waitFence; ws = waitSeq; ok = true };
		atomic { wakeEffect() }
	od
}

/* A client of the operator's. It may be gone after each of its steps. */
proctype Operator()
{
	byte wf, ws, i;
	bool ok;
	do
	:: atomic { stops > 0 && !ended() -> stops--;
		if
		:: status == QUEUED && (open() == 0 || broken == UNATTENDED) -> finish(STOPPED)  /* nobody serves it */
		:: true ->
			control = STOPPING;
			if
			:: status == QUEUED -> due = true
			:: else
			fi
		fi
	   };
		/* Then the children, in pages. */
		i = 0;
		do
		:: i < kids -> atomic { stopKid(i); i++ }
		:: break
		od;
		i = 0;
		if
		:: wakeRead(); atomic { wakeEffect() }
		:: true
		fi
	:: atomic { pulls > 0 && status == QUEUED -> pulls--; due = true }
	:: atomic { again > 0 && !ended() && ending == NOTHING && !(locked && broken != UNLOCKED) && kid[0].status == FAILED -> again--;
		kid[0].status = QUEUED; grown = true; regrown = true
	   }
	:: atomic { alone > 0 && isOpen(0) -> alone--; stopKid(0) };
		if
		:: wakeRead(); atomic { wakeEffect() }
		:: reaper                                      /* gone before its check */
		fi
	:: (!endless || stops == 0 || ended()) -> break
	od
}

/* What an operator does in the end with whatever is paused. */
proctype Resumer()
{
	byte resumed;
end:
	do
	:: atomic { control == PAUSING ->
		assert(resumed < failed);                      /* no more often than children fail */
		resumed++;
		control = NOTHING
	   }
	od
}

/* A transaction that submits a child, and is not the parent's batch: it locks the
 * row of the family, as long as it is open. */
proctype Stranger()
{
end:
	do
	:: atomic { strangers > 0 && status == HELD && ending == NOTHING && !locked && kid[kids - 1].status == ABSENT ->
		strangers--;
		locked = true
	   };
		atomic {
			locked = false;
			if
			:: true                                /* rolled back */
			:: kid[kids - 1].status == ABSENT ->
				assert(!ended());
				kid[kids - 1].status = QUEUED;
				grown = true;
				regrown = true
			fi
		}
	od
}

/* The network: what is on its way arrives, or does not. The row of the family is
 * written only if the task's row was. */
proctype Network()
{
end:
	do
	:: atomic { sent ->
		if
		:: status == HELD && fence == sentFence && seq == sentSeq && !locked -> seq++; wait(0, policy != CONTINUE)
		:: broken == UNTIED && !(status == HELD && fence == sentFence && seq == sentSeq) ->
			waitFence = sentFence; waitSeq = sentSeq + 1; atMost = 0
		:: true
		fi;
		sent = false;
		sentFence = 0;
		sentSeq = 0
	   }
	od
}

/* What must come: the end of the parent. */
proctype End()
{
	ended()
}

init {
	byte i;
	atomic {
		c_code {
			now.broken = setting("BROKEN", 0);
			now.kids = setting("KIDS", 2);
			now.workers = setting("WORKERS", 2);
			now.deaths = setting("DEATHS", 0);
			now.cuts = setting("CUTS", 0);
			now.stops = setting("STOPS", 0);
			now.pulls = setting("PULLS", 0);
			now.again = setting("AGAIN", 0);
			now.alone = setting("ALONE", 0);
			now.strangers = setting("STRANGERS", 0);
			now.errors = setting("ERRORS", 0);
			now.policy = setting("POLICY", 0);
			now.endless = setting("ENDLESS", 0);
			now.group = setting("GROUP", 1);
			now.reaper = setting("REAPER", 1);
			now.claims = setting("CLAIMS", 12);
		};
		do
		:: i < KIDS ->
			if
			:: i < kids -> kid[i].status = ABSENT
			:: else -> kid[i].status = UNUSED
			fi;
			i++
		:: else -> break
		od;
		i = 0;
		do
		:: i < workers -> run Worker(); i++
		:: else -> break
		od;
		i = 0;
		run Reaper();
		run Operator();
		run Resumer();
		run Stranger();
		run Network();
		run End()
	}
}
