package taskkit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// All mistakes in a Config are reported at once, each with its reason, and those that
// concern SQLite only there.
func TestConfigReportsAll(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		_, err := taskkit.NewWorker(t.Context(), db.DB, registered(countKind, counting("w")), taskkit.Config{
			Schema: schemaOf(db), Slots: -1, ClaimMax: -1, MaxAttempts: -2, Heartbeat: 5 * time.Second, DeadAfter: 10 * time.Second,
			ListenDSN: "nonsense", BatchTimeout: 9 * time.Second, BackoffMax: time.Second, Drain: -time.Second, Queues: []string{"default", "Night shift"},
		})
		if _, ok := errors.AsType[*taskkit.OptionError](err); !ok {
			t.Fatalf("%v, want *OptionError", err)
		}
		for _, want := range []string{
			"Config.Slots: -1 is not between 1 and 10,000",
			"Config.ClaimMax: -1 is not between 1 and 10,000: leave it 0 for no bound of its own",
			"Config.MaxAttempts: -2 is less than 1: no batch would be tried",
			"Config.DeadAfter: 10s is less than three times Heartbeat (5s): other workers would take over the tasks of a live worker whose heartbeat is late",
			"Config.BackoffMax: 1s is less than Backoff (the default 5s): delays begin with Backoff and grow up to BackoffMax",
			"Config.Drain: -1s is less than 100ms: a worker that ends could not release its tasks",
			`Config.Queues: "Night shift" is not a valid name of a queue: use lower case letters, digits, underscores, dots and hyphens, a letter or digit first, 63 at most`,
		} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q:\n%v", want, err)
			}
		}
		lite := strings.Contains(err.Error(), "Config.BatchTimeout: 9s is more than three quarters of DeadAfter (10s)") &&
			strings.Contains(err.Error(), "SQLite")
		if postgres := strings.Contains(err.Error(), "Config.ListenDSN: not a connection string"); postgres != (db.Dialect == dialect.Postgres) {
			t.Errorf("the remark about ListenDSN, which SQLite does not use: got it %t:\n%v", postgres, err)
		}
		if want := db.Dialect == dialect.SQLite; lite != want {
			t.Errorf("the remark about batches on SQLite: got it %t, want %t:\n%v", lite, want, err)
		}
	})
}

// A name of a schema is refused as the field of the configuration that it is.
func TestConfigNamesSchema(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		_, err := taskkit.NewWorker(t.Context(), db.DB, registered(countKind, counting("w")), taskkit.Config{Schema: "Bad-"})
		if o, ok := errors.AsType[*taskkit.OptionError](err); !ok || o.Option != "Config.Schema" {
			t.Errorf("%v, want *OptionError about Config.Schema", err)
		}
	})
}

// A long batch is allowed where it does not delay the heartbeat.
func TestConfigLongBatches(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	migrated(t, db)
	if _, err := taskkit.NewWorker(t.Context(), db.DB, registered(countKind, counting("w")), taskkit.Config{Schema: db.Schema, BatchTimeout: time.Hour}); err != nil {
		t.Errorf("BatchTimeout above DeadAfter on PostgreSQL: %v", err)
	}
}

// The same rule for names of queues applies wherever one is given.
func TestQueueNames(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		for name, valid := range map[string]bool{
			"night": true, "tenant-7.eu_1": true, "7": true, strings.Repeat("x", 63): true,
			"": false, "Night": false, "a b": false, "a\x00": false, "-a": false, "é": false, strings.Repeat("x", 64): false,
			strings.Repeat("x", 100_000): false,
		} {
			_, submit := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, taskkit.WithSchema(schemaOf(db)), taskkit.WithQueue(name), taskkit.System())
			_, worker := taskkit.NewWorker(t.Context(), db.DB, registered(countKind, counting("w")),
				taskkit.Config{Schema: schemaOf(db), Queues: []string{name}})
			for where, err := range map[string]error{"Submit": submit, "NewWorker": worker} {
				var option *taskkit.OptionError
				switch {
				case valid && err != nil:
					t.Errorf("%s refuses the queue %q: %v", where, name, err)
				case !valid && (!errors.As(err, &option) || !strings.Contains(err.Error(), "use lower case letters") || len(err.Error()) > 300):
					t.Errorf("%s: the queue %.70q: %v, want a short *OptionError with the rule", where, name, err)
				}
			}
		}
	})
}
