package taskhttp_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskjson"
	"taskkit.dev/taskkit/taskops"
)

// problemsOfErrors are the problems of the errors of the library, by their names in Go.
var problemsOfErrors = map[string]struct {
	err  error
	want *taskhttp.Error
}{
	"taskkit.ErrNotFound":      {taskkit.ErrNotFound, taskhttp.ErrNoSuchJob},
	"taskkit.ErrNoResult":      {taskkit.ErrNoResult, taskhttp.ErrNotDone},
	"taskkit.ErrExpired":       {taskkit.ErrExpired, taskhttp.ErrExpired},
	"taskkit.ErrRetired":       {taskkit.ErrRetired, taskhttp.ErrRetired},
	"taskkit.UsageError":       {&taskkit.UsageError{What: secretMarker}, taskhttp.ErrInternal},
	"taskkit.SpecError":        {&taskkit.SpecError{Kind: secretMarker}, taskhttp.ErrSpec},
	"taskkit.RevisionError":    {&taskkit.RevisionError{Kind: secretMarker}, taskhttp.ErrInternal},
	"taskkit.OptionError":      {&taskkit.OptionError{Option: secretMarker}, taskhttp.ErrInternal},
	"taskkit.TargetsError":     {&taskkit.TargetsError{Keys: []string{secretMarker}}, taskhttp.ErrSpec},
	"taskkit.DuplicateError":   {&taskkit.DuplicateError{Key: secretMarker}, taskhttp.ErrKeyTaken},
	"taskkit.CoalesceError":    {&taskkit.CoalesceError{Reference: secretMarker}, taskhttp.ErrKeyTaken},
	"taskkit.SupersededError":  {&taskkit.SupersededError{Reference: secretMarker}, taskhttp.ErrSuperseded},
	"taskkit.PausedError":      {&taskkit.PausedError{Reference: secretMarker}, taskhttp.ErrNotPossible},
	"taskkit.StateError":       {&taskkit.StateError{Problem: secretMarker}, taskhttp.ErrNotPossible},
	"taskkit.ChildError":       {&taskkit.ChildError{Reason: taskkit.ParentEnded}, taskhttp.ErrNotPossible},
	"taskkit.ItemsError":       {&taskkit.ItemsError{Problem: secretMarker}, taskhttp.ErrNotPossible},
	"taskkit.CorrectionsError": {&taskkit.CorrectionsError{}, taskhttp.ErrNotPossible},
	"taskkit.PreviewError":     {&taskkit.PreviewError{Problem: secretMarker}, taskhttp.ErrNotPossible},
	"taskkit.IDError":          {&taskkit.IDError{Text: secretMarker}, taskhttp.ErrNoSuchJob},
	"taskkit.SchemaError":      {behind(), taskhttp.ErrUnavailable},
	"taskkit.ConnectError":     {&taskkit.ConnectError{Err: errors.New(secretMarker)}, taskhttp.ErrUnavailable},
	"taskkit.RefusedError":     {&taskkit.RefusedError{Problem: secretMarker}, taskhttp.ErrUnavailable},
	"taskops.ErrNoSchedule":    {taskops.ErrNoSchedule, taskhttp.ErrNoSuchSchedule},
	"taskops.ScheduleError":    {&taskops.ScheduleError{Schedule: secretMarker}, taskhttp.ErrSchedule},
	"taskjson.Error":           {&taskjson.Error{Problem: taskjson.Syntax}, taskhttp.ErrNotJSON},
}

// behind is the error of a database without tables, whose text is in a field that is not exported.
func behind() error {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer db.Close()
	return taskkit.CheckSchema(context.Background(), db, "")
}

// Each error of the library is answered with the problem of the table, whichever call meets it, and nothing of its text. The packages
// are parsed, so that an error that is added is in the table.
func TestErrorsOfTheLibraryHaveProblems(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, dir := range []string{"taskkit", "taskkit/taskops", "taskkit/taskjson"} {
		for _, name := range errorsOf(t, dir) {
			found[name] = true
			if _, ok := problemsOfErrors[name]; !ok {
				t.Errorf("%s is not in the table of this test: give it a problem in refused.go", name)
			}
		}
	}
	e := newEnv(t, testdb.SQLite(t))
	page, err := os.ReadFile("../../docs/http-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range problemsOfErrors {
		if !found[name] {
			t.Errorf("%s is no error of the library", name)
		}
		for i, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			where := fmt.Sprintf("/errors/%s/%d", strings.ReplaceAll(name, ".", "/"), i)
			taskhttp.Start(e.jobs, "POST "+where, workKind, taskhttp.Before(func(context.Context, *sql.Tx, taskhttp.Caller, *workSpec) ([]taskkit.SubmitOption, error) {
				return nil, err
			}))
			r := e.do(t, "POST", where, `{"mode":"done"}`)
			check(t, name, r, c.want.Status, c.want)
			leaksNothing(t, name, r)
		}
		kind := c.want.Type[strings.LastIndex(c.want.Type, "/")+1:]
		_, short, _ := strings.Cut(name, ".")
		if !documentedBeside(string(page), kind, short) {
			t.Errorf("docs/http-protocol.md does not name %s beside %s", short, kind)
		}
	}
}

// documentedBeside reports whether the table of problems names an error of the library in the row of a problem.
func documentedBeside(page, problem, name string) bool {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "| `"+problem+"` |") && strings.Contains(line, "`"+name+"`") {
			return true
		}
	}
	return false
}

// errorsOf returns the exported errors of a package: types with a method Error that end in Error, and variables.
func errorsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("../../" + dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), "../../"+dir+"/"+entry.Name(), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		add := func(name string) {
			if ast.IsExported(name) {
				names = append(names, file.Name.Name+"."+name)
			}
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil && d.Name.Name == "Error" {
					if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
						add(star.X.(*ast.Ident).Name) //nolint:errcheck,forcetypeassert // a receiver is one
					}
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.VAR && strings.HasPrefix(v.Names[0].Name, "Err") {
						add(v.Names[0].Name)
					}
				}
			}
		}
	}
	return names
}

// An error of Before is answered with 503, so that clients repeat the start, only if it is known to pass.
func TestErrorsOfBefore(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		for name, c := range map[string]struct {
			options []taskkit.SubmitOption
			err     error
			query   string
			want    *taskhttp.Error
		}{
			"plain":     {err: errors.New(secretMarker), want: taskhttp.ErrInternal},
			"option":    {options: []taskkit.SubmitOption{taskkit.WithUniqueKey("")}, want: taskhttp.ErrInternal},
			"owner":     {options: []taskkit.SubmitOption{taskkit.WithDelay(-time.Hour), taskkit.WithTotal(-7)}, want: taskhttp.ErrInternal},
			"permanent": {err: taskkit.Permanent("x", errors.New(secretMarker)), want: taskhttp.ErrInternal},
			"statement": {query: "SELECT * FROM no_such_table", want: taskhttp.ErrInternal},
			"server":    {err: &taskhttp.Error{Status: 503}, want: taskhttp.ErrInternal},
			"transient": {err: taskkit.Transient(errors.New(secretMarker)), want: taskhttp.ErrUnavailable},
			"timeout":   {err: context.DeadlineExceeded, want: taskhttp.ErrUnavailable},
			"lost":      {err: &taskkit.ConnectError{Err: errors.New(secretMarker)}, want: taskhttp.ErrUnavailable},
			"refusal":   {err: taskhttp.ErrTooManyRequests, want: taskhttp.ErrTooManyRequests},
			"spec":      {err: &taskkit.SpecError{Fields: []taskkit.FieldError{{Pointer: "/mode", Rule: "free"}}}, want: taskhttp.ErrSpec},
		} {
			taskhttp.Start(e.jobs, "POST /before/"+name, workKind, taskhttp.Before(func(ctx context.Context, tx *sql.Tx, _ taskhttp.Caller, _ *workSpec) ([]taskkit.SubmitOption, error) {
				if c.query != "" {
					_, err := tx.ExecContext(ctx, c.query)
					return nil, err
				}
				return c.options, c.err
			}))
			r := e.do(t, "POST", "/before/"+name, `{"mode":"done"}`)
			check(t, name, r, c.want.Status, c.want)
			leaksNothing(t, name, r)
			if again := r.header.Get("Retry-After") != ""; again != (c.want.Status == http.StatusServiceUnavailable) {
				t.Errorf("%s: Retry-After %q", name, r.header.Get("Retry-After"))
			}
		}
	})
}
