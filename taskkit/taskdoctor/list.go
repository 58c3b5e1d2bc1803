package taskdoctor

import (
	"slices"
	"time"
)

// A Kind is a kind of finding.
type Kind struct {
	ID       string
	Severity Severity
	Fix      string // what mends it
}

// list has all findings, in the order of docs/doctor.md.
var list = []Kind{
	{"no_worker", Error, "Start a worker that serves the queue and executes these kinds."},
	{"safe_mode", Warning, "Start the workers again without Config.SafeMode."},
	{"queue_paused", Warning, "Resume the queue."},
	{"throttled", Info, "Wait until the indicator is well again, or mend what it names."},
	{"worker_lost", Error, "Start a worker: any live one takes over the tasks of dead ones within seconds."},
	{"no_presence", Warning, "Give Config.ListenDSN a direct connection, and the role of the workers the right to take advisory locks."},
	{"workers_differ", Warning, "Finish the deployment, so that all workers run the same version."},
	{"slots_one_kind", Warning, "Bound the tasks of this kind by Config.QueueSlots or WithLimit, or start more workers."},
	{"queue_slots_full", Info, "Raise Config.QueueSlots of the queue, or start more workers."},
	{"pool_small", Warning, "Call db.SetMaxOpenConns with at least Config.Slots + 3, or lower Config.Slots."},
	{"config_refused", Error, "Correct the field: NewWorker refuses it."},

	{"queue_old", Warning, "Mend the causes; explain says more of a task."},
	{"unknown_kind", Error, "Start workers that read this revision of the kind, or submit to a queue that such workers serve."},
	{"retry_storm", Warning, "Mend what the code names. The tasks are tried again by themselves."},
	{"approval_waits", Warning, "Approve the task, or stop it."},
	{"dead_letters", Warning, "Mend the cause, then retry them, or drop them."},
	{"target_fails", Warning, "Mend the receiver, or correct the target: notifications that are still tried come by themselves then, and dead letters can be retried."},
	{"limit_holder_lost", Warning, "Start a worker: it takes the task over, and the permit is free again."},

	{"schedule_never", Warning, "Give the schedule an expression that comes true, or delete it."},
	{"schedule_late", Warning, "Start a worker that executes the kind, or pause the schedule."},
	{"schedule_refused", Error, "Correct the schedule."},
	{"schedule_alternates", Warning, "Let one program set the schedule, or all of them the same definition."},

	{"schema_behind", Error, "Migrate the tables."},
	{"schema_ahead", Error, "Update the program: the tables are of a later version."},
	{"index_missing", Error, "Make the index."},
	{"index_invalid", Error, "Make the index anew."},
	{"clock_skew", Warning, "Synchronise the clocks of these machines."},

	{"standby", Error, "Connect to the primary."},
	{"read_only", Error, "Let transactions write, and connect anew."},
	{"fsync_off", Error, "Switch fsync on, and reload the configuration of the server: SELECT pg_reload_conf()."},
	{"synchronous_commit_off", Warning, "Switch synchronous_commit on, and connect anew."},
	{"old_transaction", Warning, "End the transaction, and let its program commit sooner."},
	{"autovacuum_off", Warning, "Switch autovacuum on; of the whole server, by SELECT pg_reload_conf() too."},
	{"vacuum_behind", Warning, "Vacuum the table, and let autovacuum work faster."},
	{"wraparound", Error, "Freeze the rows of the table."},
	{"slot_inactive", Warning, "Start what reads the slot, or drop it."},
	{"connections", Warning, "Lower the pools, or raise the limit."},

	{"sqlite_journal", Error, "Open the file with _pragma=journal_mode(WAL)."},
	{"sqlite_synchronous", Warning, "Open the file with _pragma=synchronous(FULL)."},
	{"sqlite_busy_timeout", Error, "Open the file with _pragma=busy_timeout(10000)."},
	{"sqlite_network", Error, "Move the file to a disk of the machine on which its workers run."},
	{"sqlite_wal", Warning, "End long read transactions, then cut the log."},

	{"reader_stale", Warning, "Mend what the error names. Until then the metrics of queues stand still."},
	{"series_overflow", Warning, "Use fewer names, without ids or dates in them."},
	{"exporter_failing", Warning, "See that what receives metrics and traces answers."},
}

// Findings returns the kinds of findings of this package, in the order of docs/doctor.md.
func Findings() []Kind { return slices.Clone(list) }

// docs is the address of the documentation of a finding, without its id.
const docs = "https://taskkit.dev/doctor#"

// affectedMost is how many affected things a finding lists.
const affectedMost = 10

// Found returns a finding of the kind with a text.
func (k Kind) Found(text string) Finding {
	return Finding{ID: k.ID, Severity: k.Severity, Text: text, Fix: k.Fix, Docs: docs + k.ID}
}

// found returns a finding of the list.
func found(id, text string) Finding {
	return list[slices.IndexFunc(list, func(k Kind) bool { return k.ID == id })].Found(text)
}

// since sets when it began, unless that is not known.
func (f Finding) since(t time.Time) Finding {
	if !t.IsZero() {
		t = t.UTC()
		f.Since = &t
	}
	return f
}

// of sets what is affected.
func (f Finding) of(affected ...string) Finding {
	n := min(len(affected), affectedMost)
	f.Affected, f.More = slices.Clip(affected[:n]), int64(len(affected)-n)
	return f
}

// by sets the command that mends it.
func (f Finding) by(command string) Finding {
	f.Command = command
	return f
}

// bySQL sets the statement that mends it.
func (f Finding) bySQL(statement string) Finding {
	f.SQL = statement
	return f
}
