package command

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/internal/database"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// address reads the address of the database from -d or the environment.
func (a *app) address() (database.Address, error) {
	text := a.url
	if text == "" {
		text = os.Getenv("DATABASE_URL")
	}
	if text == "" {
		return database.Address{}, usage("no database given: use -d URL or set DATABASE_URL, or run `taskkit dev` for a demonstration that needs none")
	}
	return parseAddress(text)
}

func parseAddress(text string) (database.Address, error) {
	at, err := database.Parse(text)
	if err != nil {
		return at, usage("%v", err)
	}
	return at, nil
}

// connection is an open database with a client for its tasks.
type connection struct {
	*taskkit.Client
	*taskops.Operator
	db *sql.DB
}

func (c *connection) close() { _ = c.db.Close() }

// schemaName returns --schema or its default.
func (a *app) schemaName() string {
	if a.schema == "" {
		return taskkit.DefaultSchema
	}
	return a.schema
}

// open opens the database. If create is set it creates a missing SQLite file.
func (a *app) open(ctx context.Context, create bool) (database.Address, *sql.DB, error) {
	at, err := a.address()
	if err != nil {
		return at, nil, err
	}
	db, err := at.Open(ctx, database.Options{Create: create})
	if _, ok := errors.AsType[*database.AddressError](err); ok {
		err = usage("%v", err)
	}
	return at, db, err
}

// connect opens the database and checks its tables.
func (a *app) connect(ctx context.Context) (*connection, error) {
	_, db, err := a.open(ctx, false)
	if err != nil {
		return nil, err
	}
	if err := taskkit.CheckSchema(ctx, db, a.schemaName()); err != nil {
		_ = db.Close() // the check has the error to report
		if s, ok := errors.AsType[*taskkit.SchemaError](err); ok && s.Behind() {
			err = fmt.Errorf("%w, which is here `taskkit migrate%s`", err, a.flags())
		}
		return nil, err
	}
	c := taskkit.NewClient(db, taskkit.WithSchema(a.schemaName()))
	return &connection{c, taskops.New(c), db}, nil
}

// idForm matches a task argument. It is checked before a database is opened.
var idForm = regexp.MustCompile(`^(@last|[0-9a-fA-F-]{4,36})$`)

// checkID rejects text that cannot name a task.
func checkID(text string) error {
	if !idForm.MatchString(text) {
		return usage("%q is not a task: give the full id, its last 4 or more characters, or @last", text)
	}
	if len(text) == 36 {
		if _, err := taskkit.ParseID(text); err != nil {
			return usage("%s", sentence(err))
		}
	}
	return nil
}

// find returns the task that an argument names.
func (c *connection) find(ctx context.Context, text string) (*taskkit.Task, error) {
	id, err := c.Resolve(ctx, text)
	if err != nil {
		return nil, several(err)
	}
	t, err := c.Task(ctx, id)
	if errors.Is(err, taskkit.ErrNotFound) {
		return nil, noTask(id)
	}
	return t, err
}

func noTask(id taskkit.ID) error {
	return errors.New("no task " + id.String() + ": it may have been deleted")
}

// several adds to an error the tasks that a suffix matches.
func several(err error) error {
	var e *taskkit.IDError
	if !errors.As(err, &e) || len(e.Matches) == 0 {
		return err
	}
	ids := make([]string, len(e.Matches))
	for i, id := range e.Matches {
		ids[i] = id.String()
	}
	return errors.New(sentence(err) + ": " + strings.Join(ids, ", "))
}

// personFlag is a flag that takes the id of a person.
type personFlag struct{ uuid.UUID }

// Set implements pflag.Value.
func (p *personFlag) Set(s string) error {
	id, err := uuid.Parse(s)
	if err != nil {
		return errors.New("not a UUID")
	}
	p.UUID = id
	return nil
}

// String implements pflag.Value.
func (p *personFlag) String() string {
	if p.UUID == uuid.Nil {
		return ""
	}
	return p.UUID.String()
}

// Type implements pflag.Value.
func (*personFlag) Type() string { return "uuid" }
