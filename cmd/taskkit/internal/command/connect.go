package command

import (
	"cmp"
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
func (a *App) address() (database.Address, error) {
	text := a.url
	if text == "" {
		text = os.Getenv("DATABASE_URL")
	}
	if text == "" {
		return database.Address{}, usage("no database given: use -d URL or set DATABASE_URL")
	}
	return ParseAddress(text)
}

// ParseAddress reads the value of -d.
func ParseAddress(text string) (database.Address, error) {
	at, err := database.Parse(text)
	if err != nil {
		return at, usage("%v", err)
	}
	return at, nil
}

// Connection is an open database with a client for its tasks.
type Connection struct {
	*taskkit.Client
	*taskops.Operator

	DB *sql.DB

	shared bool // DB belongs to the program
}

// Close closes a database that the command has opened.
func (c *Connection) Close() {
	if !c.shared {
		_ = c.DB.Close()
	}
}

// Schema returns the PostgreSQL schema of taskkit's tables.
func (a *App) Schema() string { return cmp.Or(a.schema, taskkit.DefaultSchema) }

// open opens the database. If create is set it creates a missing SQLite file. The caller closes the connection.
func (a *App) open(ctx context.Context, create bool) (*Connection, error) {
	c := &Connection{DB: a.DB, shared: a.DB != nil}
	if !c.shared {
		at, err := a.address()
		if err != nil {
			return nil, err
		}
		c.DB, err = at.Open(ctx, database.Options{Create: create})
		if _, ok := errors.AsType[*database.AddressError](err); ok {
			return nil, usage("%v", err)
		}
		if err != nil {
			return nil, err
		}
	}
	c.Client = taskkit.NewClient(c.DB, taskkit.WithSchema(a.Schema()))
	c.Operator = taskops.New(c.Client)
	return c, nil
}

// Connect opens the database and checks its tables. The caller closes the connection.
func (a *App) Connect(ctx context.Context) (*Connection, error) {
	c, err := a.open(ctx, false)
	if err != nil {
		return nil, err
	}
	if err := taskkit.CheckSchema(ctx, c.DB, a.Schema()); err != nil {
		c.Close()
		if s, ok := errors.AsType[*taskkit.SchemaError](err); ok && s.Behind() {
			err = fmt.Errorf("%w, which is here `taskkit migrate%s`", err, a.flags())
		}
		return nil, err
	}
	return c, nil
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
func (c *Connection) find(ctx context.Context, text string) (*taskkit.Task, error) {
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
	if !errors.As(err, &e) {
		return err
	}
	if len(e.Matches) == 0 {
		if len(e.Text) >= firstDigits && len(e.Text) < len(uuid.Nil.String()) {
			return fmt.Errorf("%w. Ids of one time begin alike: give the last characters, not the first; `taskkit ls` lists them", err)
		}
		return err
	}
	ids := make([]string, len(e.Matches))
	for i, id := range e.Matches {
		ids[i] = id.String()
	}
	more := ""
	if len(ids) == mostMatches {
		more = ", and there may be more"
	}
	return errors.New(sentence(err) + ": " + strings.Join(ids, ", ") + more)
}

// mostMatches is how many tasks [taskkit.Client.Resolve] names that have the same last characters.
const mostMatches = 5

// firstDigits is the length of a text from which it may be the beginning of an id.
const firstDigits = 8

// personFlag is a flag that takes the id of a person, or system.
type personFlag struct{ uuid.UUID }

// Set implements pflag.Value.
func (p *personFlag) Set(s string) error {
	if s == "system" {
		p.UUID = taskkit.SystemOwner
		return nil
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return errors.New("not a UUID, and not system")
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
