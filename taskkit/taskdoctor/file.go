package taskdoctor

import (
	"context"
	"fmt"
	"time"

	"taskkit.dev/internal/store/vitals"
)

// vacuumPause is how long ago a table with many dead rows may have been vacuumed.
const vacuumPause = time.Hour

// readFile reads the file of SQLite and the settings of a connection of the pool.
func readFile(ctx context.Context, e *scope) (all []Finding, err error) {
	f, err := vitals.ReadFile(ctx, e.tx)
	if f.Now.IsZero() {
		return nil, err
	}
	e.report.At = f.Now
	if f.Journal != "" && f.Journal != "wal" && f.Path != "" {
		all = append(all, found("sqlite_journal", fmt.Sprintf("The journal mode of the file is %s: readers and the writer wait for each other, and no worker starts.", f.Journal)).of(f.Path).
			bySQL("PRAGMA journal_mode = WAL"))
	}
	if f.Synchronous < 2 && f.Path != "" {
		what := "OFF: a crash of the machine may destroy the file"
		if f.Synchronous == 1 {
			what = "NORMAL: a crash of the machine loses the last commits, so tasks that a program was told are stored, and batches may run twice"
		}
		all = append(all, found("sqlite_synchronous", fmt.Sprintf("On the connections of this program synchronous is %s.", what)).of(f.Path))
	}
	if f.Busy <= 0 && f.Path != "" {
		all = append(all, found("sqlite_busy_timeout", "On the connections of this program busy_timeout is 0: a statement fails at once while another process writes.").of(f.Path))
	}
	if f.Network != "" {
		all = append(all, found("sqlite_network", fmt.Sprintf("The file %s is on a network file system (%s), whose locks do not keep two machines from destroying it.", f.Path, f.Network)).of(f.Path))
	}
	if f.WAL > e.Options.WAL {
		all = append(all, found("sqlite_wal", fmt.Sprintf("The write-ahead log of the file has %d MiB: a long read transaction keeps it from being written back.", f.WAL>>20)).of(f.Path+"-wal").
			bySQL("PRAGMA wal_checkpoint(TRUNCATE)"))
	}
	return all, err
}
