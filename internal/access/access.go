// Package access lends packages taskops, taskdoctor, taskui and intake what package taskkit does not export. Package
// taskkit sets the variables; an argument of type any has a type of package taskkit.
package access

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
)

// Client is a *taskkit.Client. Its errors are those of package taskkit.
type Client interface {
	Store(ctx context.Context) (store.Client, error)
	// Request makes a request of a task.
	Request(ctx context.Context, id uuid.UUID, r store.Request) error
	// Public returns an error of the store as one of package taskkit.
	Public(ctx context.Context, err error) error
	// DB returns the handle of the client, nil if it is no *sql.DB, and the schema of the tables.
	DB() (db *sql.DB, schema string)
}

// Submission is what the options of a submission set. Zero fields were not given.
type Submission struct {
	Owner, RunAs, Actor uuid.UUID
	Queue               string
	IdempotencyKey      string // not of a schedule
	Priority            int
	Schema              string
	Options             store.ScheduleOptions
}

// Task is the task that a schedule of a kind submits.
type Task struct {
	Submission // with the defaults of the kind
	Kind       string
	Spec       json.RawMessage
	Revision   int
	Secrets    string
}

var (
	// ClientOf returns a *taskkit.Client.
	ClientOf func(client any) Client
	// RequestOf returns the actor and the reason of a []taskkit.RequestOption. Another
	// option is an error that names what the request is about.
	RequestOf func(options any, what string) (store.Request, error)
	// FilterOf checks and converts a taskkit.Filter.
	FilterOf func(filter any) (store.Filter, error)
	// SubmissionOf returns what a []taskkit.SubmitOption sets that a schedule can have.
	SubmissionOf func(options any) (Submission, error)
	// ReferenceOf returns the reference of a []taskkit.SubmitOption, or "".
	ReferenceOf func(options any) string
	// TaskOf returns the task of a *taskkit.Kind, a spec of its type and a
	// []taskkit.SubmitOption.
	TaskOf func(kind, spec, options any) (Task, error)
	// ConfigOf checks a *taskkit.Config for a kind of database: its errors are *taskkit.OptionError, joined. slots are the slots of the worker.
	ConfigOf func(d dialect.Name, config any) (slots int, err error)
	// Mask masks the secrets of a spec.
	Mask func(secrets string, spec json.RawMessage) json.RawMessage
)
