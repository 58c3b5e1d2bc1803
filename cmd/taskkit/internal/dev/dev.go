// Package dev is the demonstration: it fills a database with people, starts
// workers as processes of their own and a mail server, has all five bulk actions
// done to everybody, kills workers in the middle, and shows from a ledger that
// nobody was dealt with twice or not at all.
//
// The parent process is what an application would be, and more: it submits tasks
// and follows them through a [taskkit.Client], and never runs one. A child is
// what a worker would be, with one thing added: it can be told to hold still with
// a batch done and not committed, so that the parent kills it at the worst moment
// there is, and not at one that chance picks. See hold.go.
package dev

import (
	"context"
	"errors"
	"fmt"
	"time"

	"taskkit.dev/cmd/taskkit/internal/database"
	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/mailserver"
	"taskkit.dev/taskkit"
)

// MaxKills bounds Options.Kills: a task whose workers die again and again without
// a checkpoint is taken for the cause, and ends.
const MaxKills = 5

// Options say what to show.
type Options struct {
	// Out gets the report, and the progress before it.
	Out screen.Screen
	// At is the database, which is left as it is but for tables of its own. The
	// zero Address is an SQLite file in a new temporary directory.
	At database.Address
	// Schema holds taskkit's tables on PostgreSQL. Defaults to a new one.
	Schema string
	// People is how many people to make up from Seed.
	People int
	Seed   uint64
	// File is a CSV file of people to take instead.
	File string
	// Workers is how many processes work. Defaults to 2 on SQLite, which has one
	// writer at a time, and to 3 on PostgreSQL.
	Workers int
	// Kills is how many of them are killed; at most MaxKills.
	Kills int
	// Exit ends the demonstration with the report. Otherwise the workers stay
	// until the context ends.
	Exit bool
	// Keep keeps what would be removed at the end.
	Keep bool
}

// ErrChecks means that the demonstration showed something that must not be. The
// report says what.
var ErrChecks = errors.New("the demonstration found something wrong: see the checks above")

// run is a demonstration under way.
type run struct {
	Options
	place  *place
	people *people
	mail   *mailserver.Server
	client *taskkit.Client
	crew   *crew

	began   time.Time
	actions []*action
	kills   []kill
	view    view
}

// Run shows it all. What it started has ended when it returns.
func Run(ctx context.Context, o Options) (err error) {
	r := &run{Options: o, began: time.Now()}
	if r.place, err = prepare(ctx, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.place.leave(o, err)) }()
	fmt.Fprintf(o.Out, "database   %s\n", r.place)
	if r.people, err = r.populate(ctx); err != nil {
		return err
	}
	r.mail, err = mailserver.Start(mailserver.Config{Refuse: refused})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.mail.Close()) }()
	r.client = taskkit.NewClient(r.place.db, taskkit.InSchema(r.place.schema))
	r.crew = newCrew(r.place, r.mail.Addr(), o.Workers)
	defer func() { err = errors.Join(err, r.crew.end()) }()
	for range o.Workers {
		if _, err := r.crew.add(o.Kills > 0); err != nil {
			return err
		}
	}
	fmt.Fprintf(o.Out, "workers    %d processes; %d of them will be killed with SIGKILL in the middle of a batch\n", o.Workers, o.Kills)
	if err := r.submit(ctx); err != nil {
		return err
	}
	if err := r.follow(ctx); err != nil {
		return err
	}
	if err := r.report(ctx); err != nil {
		return err
	}
	if o.Exit {
		return nil
	}
	r.invite()
	return r.crew.stay(ctx)
}

// since is the time since the beginning, as the progress shows it.
func (r *run) since() string { return fmt.Sprintf("%6.1fs", time.Since(r.began).Seconds()) }
