package taskdoctor

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store/vitals"
)

// check is a check of this package.
type check struct {
	name   string
	on     dialect.Name // the only database for which it is made; "": both
	tables bool         // it reads taskkit's tables
	read   func(context.Context, *scope) ([]Finding, error)
}

const (
	// checkSchema is the name of the check whose findings keep others from being made.
	checkSchema = "schema"
	// checkConfig is the name of the check that is made only with Options.Config.
	checkConfig = "configuration"
)

// checks are the checks of this package, in their order.
var checks = []check{
	{"server", dialect.Postgres, false, readServer},
	{"file", dialect.SQLite, false, readFile},
	{"connections", dialect.Postgres, false, readConnections},
	{"transactions", dialect.Postgres, false, readTransactions},
	{"replication", dialect.Postgres, false, readSlots},
	{checkConfig, "", false, readConfig},
	{checkSchema, "", false, readSchema},
	{"indexes", "", true, readIndexes},
	{"vacuum", dialect.Postgres, true, readVacuum},
	{"workers", "", true, readWorkers},
	{"queues", "", true, readQueues},
	{"attempts", "", true, readAttempts},
	{"approvals", "", true, readApprovals},
	{"dead", "", true, readDead},
	{"notifications", "", true, readTargets},
	{"limits", "", true, readLimits},
	{"schedules", "", true, readSchedules},
}

// readSchema compares the version of the tables.
func readSchema(ctx context.Context, e *scope) ([]Finding, error) {
	err := migrate.Check(ctx, e.tx, e.Options.Schema)
	wrong, ok := errors.AsType[*migrate.SchemaError](err)
	if !ok {
		return nil, err
	}
	text := sentence(strings.ReplaceAll(wrong.Error(), "`", ""))
	if !wrong.Behind() {
		return []Finding{found("schema_ahead", text)}, nil
	}
	return []Finding{found("schema_behind", text).by("taskkit migrate")}, nil
}

// readIndexes compares the indexes of the tables with those that the migrations make.
func readIndexes(ctx context.Context, e *scope) (all []Finding, err error) {
	var valid map[string]bool
	if e.dialect == dialect.Postgres {
		valid, err = vitals.ReadIndexes(ctx, e.tx, e.Options.Schema)
	} else {
		valid, err = vitals.ReadFileIndexes(ctx, e.tx)
	}
	if err != nil {
		return nil, err
	}
	wanted, err := migrate.Indexes(ctx, e.tx, e.Options.Schema)
	if err != nil {
		return nil, err
	}
	for _, i := range wanted {
		if _, ok := valid[i.Name]; !ok {
			all = append(all, found("index_missing", fmt.Sprintf("The index %s does not exist: the statements that need it read whole tables.", i.Name)).of(i.Name).bySQL(i.Create))
		}
	}
	for name, ok := range valid {
		if !ok {
			all = append(all, found("index_invalid", fmt.Sprintf("The index %s is invalid: no statement reads it, and each write keeps it.", name)).of(name).
				bySQL(fmt.Sprintf(`REINDEX INDEX CONCURRENTLY "%s"."%s"`, e.Options.Schema, name)))
		}
	}
	return all, nil
}

// sentence returns a text as a sentence.
func sentence(text string) string {
	text = strings.TrimSuffix(oneLine(text), ".")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// round shortens a duration for people.
func round(d time.Duration) string {
	switch {
	case d >= 72*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= time.Minute:
		return strings.TrimSuffix(d.Round(time.Second).String(), "0s")
	default:
		return d.Round(100 * time.Millisecond).String()
	}
}

// plainWord matches what a shell takes as it is.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// quote quotes an argument for a shell.
func quote(arg string) string {
	if plainWord.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// count returns "1 task" or "2 tasks".
func count[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
