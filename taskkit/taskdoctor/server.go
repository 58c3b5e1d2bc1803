package taskdoctor

import (
	"context"
	"fmt"
	"strings"

	"taskkit.dev/internal/store/vitals"
)

// fullFrom is from what part of the connections on a limit is near, in percent.
const fullFrom = 80

// readServer reads the settings of the server and its clock.
func readServer(ctx context.Context, e *scope) (all []Finding, err error) {
	before := e.Options.Now()
	s, err := vitals.ReadServer(ctx, e.tx)
	if err != nil {
		return nil, err
	}
	took := e.Options.Now().Sub(before)
	e.report.At = s.Now
	if s.Standby {
		all = append(all, found("standby", "The address leads to a standby, on which nothing can be written."))
	}
	if s.ReadOnly {
		all = append(all, found("read_only", "The transactions of this role in this database are read-only (default_transaction_read_only).").
			bySQL(fmt.Sprintf("BEGIN READ WRITE; ALTER DATABASE %s RESET default_transaction_read_only; COMMIT", databaseOf(ctx, e))))
	}
	if !s.Sync {
		all = append(all, found("fsync_off", "The server does not write to its disk what it has committed (fsync is off): a crash of the machine may lose or destroy everything.").
			bySQL("ALTER SYSTEM RESET fsync"))
	}
	if s.SynchronousCommit == "off" {
		all = append(all, found("synchronous_commit_off", "A commit does not wait for the disk (synchronous_commit is off): a crash of the server loses the last ones, so tasks that a program was told are stored, and batches may run twice.").
			bySQL(fmt.Sprintf("ALTER DATABASE %s SET synchronous_commit = on", databaseOf(ctx, e))))
	}
	if skew := before.Add(took / 2).Sub(s.Now); skew.Abs() > skewMost+took/2 {
		all = append(all, found("clock_skew", skewText("The clock of this machine is", skew)+".").of("this machine"))
	}
	return all, nil
}

// databaseOf returns the quoted name of the database, or a placeholder.
func databaseOf(ctx context.Context, e *scope) string {
	var name string
	if err := e.tx.QueryRowContext(ctx, "SELECT pg_catalog.quote_ident(pg_catalog.current_database()::text)").Scan(&name); err != nil {
		return "NAME"
	}
	return name
}

// readConnections compares the connections with their limits.
func readConnections(ctx context.Context, e *scope) (all []Finding, err error) {
	c, err := vitals.ReadConnections(ctx, e.tx)
	if err != nil {
		return nil, err
	}
	if c.Server*100 >= c.ServerMost*fullFrom {
		all = append(all, found("connections", fmt.Sprintf("Of the %d connections that the server accepts from roles without special rights, %d are open.", c.ServerMost, c.Server)).of("the server"))
	}
	if c.DatabaseMost > 0 && c.Database*100 >= c.DatabaseMost*fullFrom {
		name := databaseOf(ctx, e)
		all = append(all, found("connections", fmt.Sprintf("Of the %d connections that the database %s accepts, %d are open.", c.DatabaseMost, name, c.Database)).of(name).
			bySQL(fmt.Sprintf("ALTER DATABASE %s CONNECTION LIMIT %d", name, c.DatabaseMost*2)))
	}
	return all, nil
}

// readTransactions looks for old transactions, which keep VACUUM from removing the entries of claimed tasks.
func readTransactions(ctx context.Context, e *scope) (all []Finding, err error) {
	old, err := vitals.ReadTransactions(ctx, e.tx, e.Options.Transaction)
	for _, t := range old {
		age := round(t.Now.Sub(t.Since))
		if t.Prepared != "" {
			all = append(all, found("old_transaction", fmt.Sprintf("The prepared transaction %s of %s is %s old: until it ends VACUUM removes no newer row, and claims become slow.", t.Prepared, t.User, age)).
				since(t.Since).of(t.Prepared).bySQL("ROLLBACK PREPARED '"+strings.ReplaceAll(t.Prepared, "'", "''")+"'"))
			continue
		}
		all = append(all, found("old_transaction", fmt.Sprintf("A transaction of %s (process %d, application %q, %s) is %s old: until it ends VACUUM removes no newer row, and claims become slow; its last statement: %s.",
			t.User, t.PID, t.Application, t.State, age, strings.TrimSuffix(oneLine(t.Query), ";"))).
			since(t.Since).of(fmt.Sprint(t.PID)).bySQL(fmt.Sprintf("SELECT pg_terminate_backend(%d)", t.PID)))
	}
	return all, err
}

// readSlots looks for replication slots that nothing reads.
func readSlots(ctx context.Context, e *scope) (all []Finding, err error) {
	slots, err := vitals.ReadSlots(ctx, e.tx)
	for _, s := range slots {
		all = append(all, found("slot_inactive", fmt.Sprintf("Nothing reads the %s replication slot %s: the server keeps its WAL for it, %d MiB by now, until the disk is full.", s.Kind, s.Name, s.Retained>>20)).
			of(s.Name).bySQL("SELECT pg_drop_replication_slot('"+s.Name+"')"))
	}
	return all, err
}

// readVacuum examines what autovacuum does about taskkit's tables.
func readVacuum(ctx context.Context, e *scope) (all []Finding, err error) {
	s, err := vitals.ReadServer(ctx, e.tx)
	if err != nil {
		return nil, err
	}
	tables, err := vitals.ReadTables(ctx, e.tx, e.Options.Schema)
	if err != nil {
		return nil, err
	}
	if !s.Autovacuum {
		all = append(all, found("autovacuum_off", "Autovacuum is off on the whole server: claims become slower with each task.").of("the server").bySQL("ALTER SYSTEM RESET autovacuum"))
	}
	for _, t := range tables {
		name := fmt.Sprintf(`"%s"."%s"`, e.Options.Schema, t.Name)
		if t.Unattended {
			all = append(all, found("autovacuum_off", fmt.Sprintf("Autovacuum is off for the table %s: statements on it become slower with each write.", t.Name)).of(t.Name).
				bySQL("ALTER TABLE "+name+" RESET (autovacuum_enabled)"))
		}
		if t.Dead > e.Options.DeadRows && t.Dead > 2*t.Live && t.Now.Sub(t.Vacuumed) > vacuumPause {
			last := "never"
			if !t.Vacuumed.IsZero() {
				last = round(t.Now.Sub(t.Vacuumed)) + " ago"
			}
			all = append(all, found("vacuum_behind", fmt.Sprintf("The table %s has about %d dead rows and %d live ones, and was vacuumed last: %s.", t.Name, t.Dead, t.Live, last)).
				since(t.Vacuumed).of(t.Name).bySQL("VACUUM (ANALYZE) "+name))
		}
		if t.Age > e.Options.FrozenAge {
			all = append(all, found("wraparound", fmt.Sprintf("The oldest row of the table %s was frozen %d transactions ago (autovacuum_freeze_max_age is %d): at about 2,100,000,000 the server accepts no write.", t.Name, t.Age, s.FreezeMax)).
				of(t.Name).bySQL("VACUUM (FREEZE) "+name))
		}
	}
	return all, nil
}
