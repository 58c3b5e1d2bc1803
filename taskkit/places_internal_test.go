package taskkit

import (
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// everyOption has each option of Submit by name, with a value that is not the default.
var everyOption = map[string]SubmitOption{
	"OwnedBy": OwnedBy(person), "System": System(), "RunAs": RunAs(person), "WithActor": WithActor(person),
	"WithNotBefore": WithNotBefore(time.Unix(1, 0)), "WithDelay": WithDelay(time.Second), "WithPriority": WithPriority(PriorityHigh),
	"WithQueue": WithQueue("night"), "WithUniqueKey": WithUniqueKey("k"), "WithIdempotencyKey": WithIdempotencyKey("k"),
	"WithCoalescing": WithCoalescing("k"), "WithVersion": WithVersion(3), "WithPredecessor": WithPredecessor(person), "WithTraceparent": WithTraceparent("00-1-2-01"),
	"WithDryRun": WithDryRun(), "WithTotal": WithTotal(7), "WithoutNotify": WithoutNotify(), "WithReason": WithReason("r"), "WithSchema": WithSchema("other"),
	"WithParent": WithParent(person), "WithChildFailure": WithChildFailure(ContinueParent), "WithMaxParallel": WithMaxParallel(2),
	"WithStopAfter": WithStopAfter("5%"), "WithPolicies": WithPolicies(taskpolicy.Policy{When: taskpolicy.Condition{Attempts: 3}, Do: taskpolicy.Notify}),
	"WithNotifications": WithNotifications("ops"), "WithStrategy": WithStrategy(taskpolicy.Strategy{{Do: taskpolicy.SkipItem}}), "WithCanary": WithCanary(1), "WithApproval": WithApproval(), "WithWindow": WithWindow("22:00-06:00 UTC"),
	"WithLatestStart": WithLatestStart(time.Unix(1, 0)), "WithDeadline": WithDeadline(time.Unix(1, 0)), "WithTimeLimit": WithTimeLimit(time.Hour),
	"WithMaxRate": WithMaxRate(5), "WithLimit": WithLimit("k", 1), "WithPreview": WithPreview(), "WithMaxChanges": WithMaxChanges("", "", 1),
	"WithTargets": WithTargets(slices.Values([]string{"Ada"})), "WithSample": WithSample(Sample{Every: 2}), "WithSubmitted": WithSubmitted(new(Task)),
	"WithRetention": WithRetention(time.Hour), "WithLogger": WithLogger(slog.New(slog.DiscardHandler)), "WithObserver": WithObserver(noObserver{}), "WithStage": WithStage("bill", WithMaxRate(5)), "SubmitOptions": SubmitOptions(WithPriority(PriorityHigh), WithReason("r")),
}

// noObserver observes nothing.
type noObserver struct{}

// Submitting implements [SubmitObserver].
func (noObserver) Submitting(ctx context.Context, _ *Submitting) (context.Context, func([]ID, error)) {
	return ctx, func([]ID, error) {}
}

// TestEveryOptionIsKnown: an option that is new is in everyOption, so that the tests of this file
// are made of it.
func TestEveryOptionIsKnown(t *testing.T) {
	t.Parallel()
	for _, f := range parsed(t, "*.go") {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil {
				continue
			}
			if isSubmitOption(fn) && fn.Name.IsExported() && everyOption[fn.Name.Name] == nil {
				t.Errorf("%s is not in everyOption: add it with a value that is not the default", fn.Name.Name)
			}
		}
	}
}

// isSubmitOption reports whether a function returns a SubmitOption, or an interface that has
// it embedded, and nothing else.
func isSubmitOption(fn *ast.FuncDecl) bool {
	if fn.Type.Results == nil || len(fn.Type.Results.List) != 1 {
		return false
	}
	returned := []ast.Expr{fn.Type.Results.List[0].Type}
	if i, ok := returned[0].(*ast.InterfaceType); ok {
		for _, embedded := range i.Methods.List {
			returned = append(returned, embedded.Type)
		}
	}
	return slices.ContainsFunc(returned, func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && id.Name == "SubmitOption"
	})
}

// parsed returns the files of a pattern that are no tests.
func parsed(t *testing.T, pattern string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file %s, %v", pattern, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// TestEveryOptionOfStage: a stage keeps an option until its task is made, or refuses it.
func TestEveryOptionOfStage(t *testing.T) {
	t.Parallel()
	stored := func(opts ...SubmitOption) (string, error) {
		s := NewStage("s", stageKind, staged, opts...)
		if s.err != nil {
			return "", s.err
		}
		task := throughStage(t, s.task)
		task.ID = uuid.Nil
		text, err := json.Marshal(task)
		return string(text), err
	}
	plain, err := stored()
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range everyOption {
		got, err := stored(o)
		if _, refused := errors.AsType[*OptionError](err); !refused && (err != nil || got == plain) {
			t.Errorf("%s is lost by a stage (%v): keep it in storedStage, or refuse it in refuseInStage", name, err)
		}
	}
}

// throughStage returns the task of a stage that was stored and read.
func throughStage(t *testing.T, task store.NewTask) store.NewTask {
	t.Helper()
	text, err := json.Marshal(storeStages([]Stage{{name: "s", task: task}}))
	if err != nil {
		t.Fatal(err)
	}
	var read []storedStage
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	return read[0].newTask(&session.Task{ID: uuid.UUID{15: 8}, Owner: uuid.UUID{15: 9}, RunAs: uuid.UUID{15: 9}, Queue: "default"}, new(store.Options))
}

// TestEveryFieldOfStage: a stage keeps each field of a new task but for the ones of the
// composite task.
func TestEveryFieldOfStage(t *testing.T) {
	t.Parallel()
	n := store.NewTask{Submitted: store.Submitted{Owner: person}, Options: new(store.Options)}
	before := throughStage(t, n)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[store.NewTask]()) {
		if f.Anonymous || f.Name == "ID" || f.Name == "Parent" { // these are of the composite task
			continue
		}
		given := n
		fill(reflect.ValueOf(&given).Elem().FieldByIndex(f.Index))
		got := throughStage(t, given)
		if reflect.DeepEqual(reflect.ValueOf(got).FieldByIndex(f.Index).Interface(), reflect.ValueOf(before).FieldByIndex(f.Index).Interface()) {
			t.Errorf("NewTask.%s is lost by a stage: see storedStage", f.Name)
		}
	}
}

// fill sets a value, and what it consists of, to what is not zero.
func fill(v reflect.Value) {
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(1, 0).UTC()))
		return
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":1}`))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Float64:
		v.SetFloat(3)
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(3)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Func, reflect.Slice, reflect.Map: // left out
	default:
		panic("fill: add " + v.Kind().String())
	}
}

// TestEveryOptionOfSchedule: a schedule keeps an option, or refuses it, also where the kind is
// not known.
func TestEveryOptionOfSchedule(t *testing.T) {
	t.Parallel()
	plain, err := stageKind.scheduledTask(staged, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range everyOption {
		got, err := stageKind.scheduledTask(staged, []SubmitOption{o})
		if _, refused := errors.AsType[*OptionError](err); !refused && (err != nil || reflect.DeepEqual(got, plain)) && name != "System" {
			t.Errorf("%s is lost by a schedule (%v): keep it in access.Submission, or refuse it in checkSchedule", name, err)
		}
		sub := &submission{NewTask: store.NewTask{Total: -1, Options: new(store.Options)}}
		o.applySubmit(sub)
		if sub.checkSchedule() == nil && reflect.ValueOf(sub.scheduled()).IsZero() {
			t.Errorf("%s is lost by a schedule of an unknown kind", name)
		}
	}
}

// TestEveryFieldOfSchedule: a schedule refuses the fields of a submission that it does not keep, also a new one.
func TestEveryFieldOfSchedule(t *testing.T) {
	t.Parallel()
	for f := range reflect.TypeFor[store.Submitted]().Fields() {
		sub := &submission{NewTask: store.NewTask{Total: -1, Options: new(store.Options)}}
		fill(reflect.ValueOf(&sub.Submitted).Elem().FieldByIndex(f.Index))
		kept := slices.Contains([]string{"Kind", "Owner", "RunAs", "Queue", "UniqueKey"}, f.Name)
		if refused := sub.checkSchedule() != nil; refused == kept {
			t.Errorf("Submitted.%s is refused by a schedule: %t", f.Name, refused)
		}
	}
}

// TestEveryFieldFromStore: each field of a stored task is in a Task, or is here with the reason
// why not, and each field of a Task is set.
func TestEveryFieldFromStore(t *testing.T) {
	t.Parallel()
	hidden := map[string]string{
		"ModifiedBy":      "the last writer: RunAs of a worker, or the actor of a request, which Client.Events has",
		"Secrets":         "it masks the spec and the state",
		"IdempotencyKey":  "it may be a secret of the client",
		"TargetsField":    "for the targets, of this task and of one that follows it",
		"Stalled":         "for workers: the order of claims, the size of batches, items that kill workers; taskevent has TakenOver",
		"HasChildren":     "Client.read makes Children of it",
		"HasOpenChildren": "for the answer to a request",
	}
	plain := fromStore(store.Task{})
	for _, f := range reflect.VisibleFields(reflect.TypeFor[store.Task]()) {
		if f.Anonymous {
			continue
		}
		var row store.Task
		fill(reflect.ValueOf(&row).Elem().FieldByIndex(f.Index))
		if lost := reflect.DeepEqual(fromStore(row), plain); lost != (hidden[f.Name] != "") {
			t.Errorf("store.Task.%s: lost by fromStore: %t, want %t: set it there, or give the reason here", f.Name, lost, !lost)
		}
	}
	var row store.Task
	fill(reflect.ValueOf(&row).Elem())
	// Of a task without children that is within its items, its item is known.
	row.Secrets, row.HasChildren, row.Progress = "", false, lifecycle.Progress{Total: 3, Done: 1, Failed: 1, Skipped: 1, Position: 2}
	task := reflect.ValueOf(fromStore(row)).Elem()
	for f := range task.Type().Fields() {
		if f.Name != "Children" && task.FieldByIndex(f.Index).IsZero() {
			t.Errorf("Task.%s is not set by fromStore", f.Name)
		}
	}
}
