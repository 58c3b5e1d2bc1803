package taskui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// Level is what a person may do at most.
type Level int

// The levels.
const (
	None    Level = iota // nothing: every page is refused
	Read                 // see tasks, also the texts of errors
	Operate              // the operations with tasks, or Person.Operations
	Admin                // every operation, also with queues, limits, schedules and workers
)

// Person is who makes a request.
type Person struct {
	// ID is the person. Requests are recorded with it and tasks that it starts belong to it. The zero UUID is an unknown person, who cannot
	// approve, and whose tasks belong to [taskkit.SystemOwner].
	ID uuid.UUID
	// Name is how the dashboard calls the person. Defaults to the ID.
	Name string
	// Level is what the person may do at most. Defaults to [None].
	Level Level
	// Operations are all that a person with the level [Operate] may do; operations of operators, such as taskhttp.OpChangeQueues, can be
	// among them. Defaults to all operations with tasks, and none of operators.
	Operations []taskhttp.Operation
	// Own lets the person see and operate the tasks only of which it is the owner, without what is for operators: texts of errors, specs, workers,
	// and the pages about queues, limits, schedules and workers. It needs an ID.
	Own bool
}

// check refuses a person whose fields do not go together.
func (p *Person) check() error {
	if p.Level < None || p.Level > Admin {
		return fmt.Errorf("taskui: the level %d of the person is none", p.Level)
	}
	if p.Own && p.ID == uuid.Nil {
		return errors.New("taskui: a person with Own needs an ID")
	}
	return nil
}

// display returns how the dashboard calls the person.
func (p *Person) display() string {
	switch {
	case p.Name != "":
		return p.Name
	case p.ID == uuid.Nil:
		return "unknown"
	default:
		return p.ID.String()
	}
}

// ofTasks are the operations with tasks, which the level Operate has.
var ofTasks = []taskhttp.Operation{
	taskhttp.OpStart, taskhttp.OpStop, taskhttp.OpPause, taskhttp.OpResume, taskhttp.OpRetry, taskhttp.OpApprove, taskhttp.OpChange,
	taskhttp.OpDelete, taskhttp.OpRetryFailed, taskhttp.OpContinue, taskhttp.OpApply,
}

// reading are the operations that change nothing.
var reading = []taskhttp.Operation{
	taskhttp.OpList, taskhttp.OpWatch, taskhttp.OpFetch, taskhttp.OpItems,
}

// readingOps are the operations of operators that change nothing.
var readingOps = []taskhttp.Operation{
	taskhttp.OpReadSchedules, taskhttp.OpReadQueues, taskhttp.OpReadDead, taskhttp.OpReadLimits, taskhttp.OpReadJobs,
	taskhttp.OpExplainJobs, taskhttp.OpReadWorkers, taskhttp.OpReadChanges, taskhttp.OpReadDoctor,
}

// allows reports whether the level and the operations of the person include an operation.
func (p *Person) allows(op taskhttp.Operation) bool {
	task := slices.Contains(ofTasks, op) || slices.Contains(reading, op)
	if p.Own && !task {
		return false
	}
	switch {
	case p.Level == None:
		return false
	case slices.Contains(reading, op) || slices.Contains(readingOps, op), p.Level == Admin:
		return true
	case p.Level == Read:
		return false
	case p.Operations != nil:
		return slices.Contains(p.Operations, op)
	default:
		return task
	}
}

// may reports whether the person of a request may do something with a task, which is nil for OpStart and OpList.
func (r *request) may(ctx context.Context, op taskhttp.Operation, t *taskkit.Task) bool {
	switch {
	case !r.who.allows(op):
		return false
	case t != nil && r.who.Own && t.Owner != r.who.ID:
		return false
	case r.d.config.Authorize == nil:
		return true
	}
	if t != nil { // as an Authorizer of package taskhttp has it
		bare := *t
		bare.SpecJSON, bare.StateJSON = nil, nil
		t = &bare
	}
	err := r.d.config.Authorize(ctx, r.caller(), op, t)
	if err != nil {
		r.d.config.Logger.DebugContext(ctx, "not authorized", "operation", op, "person", r.who.ID, "error", err)
	}
	return err == nil
}

// mayOperate reports whether the person of a request may do something that is for operators.
func (r *request) mayOperate(ctx context.Context, op taskhttp.Operation) bool {
	if !r.who.allows(op) {
		return false
	}
	if r.d.config.Operator == nil {
		return true
	}
	err := r.d.config.Operator(ctx, r.caller(), op)
	if err != nil {
		r.d.config.Logger.DebugContext(ctx, "not authorized", "operation", op, "person", r.who.ID, "error", err)
	}
	return err == nil
}

// caller is the person as rules of package taskhttp have it.
func (r *request) caller() taskhttp.Caller {
	return taskhttp.Caller{Owner: r.who.ID, RunAs: r.who.ID, Detail: r.who}
}

// forwarded are the headers with which proxies pass requests on.
var forwarded = []string{"Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "Cf-Connecting-Ip", "True-Client-Ip"}

// errElsewhere refuses a request that is not of this machine, without Config.Access.
var errElsewhere = errors.New("taskui: without Config.Access the dashboard answers browsers of its own machine only")

// ThisMachine is the default of Config.Access: a person with the level [Admin], without an ID, for a request of this machine, and an error for all others. A page of another site can lead a browser to this machine under a name of its own, so the name must be
// a loopback name too; and what a proxy passes on comes from a loopback address.
func ThisMachine(r *http.Request) (Person, error) {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !isLoopback(host) || !isLoopback(hostOf(r)) {
		return Person{}, errElsewhere
	}
	for name := range r.Header {
		if slices.Contains(forwarded, name) || strings.HasPrefix(name, "X-Forwarded-") {
			return Person{}, errElsewhere
		}
	}
	return Person{Name: "this machine", Level: Admin}, nil
}

// hostOf returns the name under which a request reached the server, without its port.
func hostOf(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return strings.Trim(r.Host, "[]")
}

// isLoopback reports whether a name or an address is of this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback() || strings.EqualFold(host, "localhost")
}
