package intake

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
)

// Config configures a [Consumer]. DB, Name, Source and Handler are required.
type Config struct {
	// BatchSize is how many messages are taken in by one transaction at most. A transaction
	// that takes longer than CallTimeout is repeated with half of them. Defaults to 100.
	BatchSize int

	// CallTimeout bounds each call of the handler, each transaction, and each call to the broker
	// except the wait for messages. Defaults to 10 s.
	CallTimeout time.Duration

	// DB is where the tasks are. The consumer uses at most two connections.
	DB *sql.DB

	// DeadLetter returns refused messages to the broker as dead letters. Otherwise they are
	// acknowledged, and only their row remains, see [Refused].
	DeadLetter bool

	// Handler decides what to do with a message.
	Handler Handler

	// Log is the log of the consumer. Defaults to slog.Default.
	Log *slog.Logger

	// MaxBody is the largest body of a message in bytes; larger ones are refused.
	// Defaults to 1 MiB.
	MaxBody int

	// MaxHold is how long a message whose handler returns transient errors may hold up the messages behind it, which
	// are received after it: then it is refused. Add the duration of a call. Defaults to 30 s.
	MaxHold time.Duration

	// MaxTries is how often the handler is called for one message while it returns
	// transient errors. Defaults to 10.
	MaxTries int

	// Name identifies the source. Messages of different names may have the same ids;
	// consumers of the same queue must have the same name.
	Name string

	// NotBeforeHeader is the header with the earliest start, as RFC 3339 or as seconds
	// since 1970, which may have a fraction. Defaults to "nbf"; "-" for none.
	NotBeforeHeader string

	// Observe is called for each [Event], from the goroutine of Run. It must not block.
	// Defaults to none.
	Observe func(ctx context.Context, e Event)

	// Remember is how long a message of this source is recognised. It must be longer than
	// the broker may deliver it again, and the same for all consumers of the source. Defaults to 14 days.
	Remember time.Duration

	// Retry is the pause before the first repetition after a transient error. It doubles
	// each time, up to 30 s. Defaults to 200 ms.
	Retry time.Duration

	// Schema is the PostgreSQL schema of taskkit's tables. Defaults to
	// [taskkit.DefaultSchema].
	Schema string

	// Source delivers the messages. Run closes it.
	Source Source
}

// retryMax is the longest pause after a transient error.
const retryMax = 30 * time.Second

// withDefaults returns the configuration with its defaults.
func (c Config) withDefaults() Config {
	c.BatchSize = cmp.Or(c.BatchSize, 100)
	c.CallTimeout = cmp.Or(c.CallTimeout, 10*time.Second)
	c.Log = cmp.Or(c.Log, slog.Default())
	c.MaxBody = cmp.Or(c.MaxBody, 1<<20)
	c.MaxHold = cmp.Or(c.MaxHold, 30*time.Second)
	c.MaxTries = cmp.Or(c.MaxTries, 10)
	c.NotBeforeHeader = cmp.Or(c.NotBeforeHeader, "nbf")
	c.Remember = cmp.Or(c.Remember, 14*24*time.Hour)
	c.Retry = cmp.Or(c.Retry, 200*time.Millisecond)
	c.Schema = cmp.Or(c.Schema, taskkit.DefaultSchema)
	return c
}

// check returns the mistakes in the configuration, joined.
func (c Config) check() error {
	var errs []error
	bad := func(field, problem string, args ...any) {
		errs = append(errs, &taskkit.OptionError{Option: "intake: Config." + field, Problem: fmt.Sprintf(problem, args...)})
	}
	if c.DB == nil {
		bad("DB", "nil: give the database that holds the tasks")
	}
	if c.Source == nil {
		bad("Source", "nil: give a source, such as one of package rabbit")
	}
	if c.Handler == nil {
		bad("Handler", "nil: give the function that says what a message means")
	}
	switch {
	case c.Name == "":
		bad("Name", `empty: name the source, such as "registrar"`)
	case len(c.Name) > MaxID || c.Name != strings.ToValidUTF8(c.Name, "") || classify.Clean(c.Name) != c.Name:
		bad("Name", "want at most %d bytes of UTF-8", MaxID)
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"BatchSize", c.BatchSize}, {"MaxBody", c.MaxBody}, {"MaxTries", c.MaxTries}} {
		if f.n < 1 {
			bad(f.name, "%d: want at least 1", f.n)
		}
	}
	if c.BatchSize > batchMax {
		bad("BatchSize", "%d: want at most %d", c.BatchSize, batchMax)
	}
	for _, f := range []struct {
		name string
		d    time.Duration
	}{{"CallTimeout", c.CallTimeout}, {"MaxHold", c.MaxHold}, {"Remember", c.Remember}, {"Retry", c.Retry}} {
		if f.d < time.Millisecond {
			bad(f.name, "%v: want at least 1ms", f.d)
		}
	}
	if err := dialect.CheckSchema(c.Schema); err != nil {
		bad("Schema", "%v", err)
	}
	return errors.Join(errs...)
}

// batchMax is the most messages of one transaction.
const batchMax = 1000
