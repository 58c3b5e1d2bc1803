package taskkit_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// What WithSubmitted returns is what a read returns, but for the times of the database.
func TestWithSubmitted(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, client := badEvery("numbers_submitted", ""), clientOf(db)
		earlier := submitted(t, db, k, below(1))
		for name, c := range map[string]struct {
			options []taskkit.SubmitOption
			unknown bool
		}{
			"plain": {},
			"options": {options: []taskkit.SubmitOption{
				taskkit.WithQueue("q"), taskkit.WithPriority(taskkit.PriorityHigh), taskkit.WithUniqueKey("u"), taskkit.WithIdempotencyKey("i"),
				taskkit.WithReason("r"), taskkit.WithActor(uuid.New()), taskkit.RunAs(uuid.New()), taskkit.WithTotal(7), taskkit.WithPredecessor(earlier),
			}},
			"later":     {options: []taskkit.SubmitOption{taskkit.WithDelay(time.Hour)}, unknown: true},
			"reference": {options: []taskkit.SubmitOption{taskkit.WithCoalescing("r")}, unknown: true},
			"approval":  {options: []taskkit.SubmitOption{taskkit.WithApproval()}, unknown: true},
		} {
			var got taskkit.Task
			id := submitted(t, db, k, below(3), append(c.options, taskkit.WithSubmitted(&got))...)
			if c.unknown {
				if got.ID != uuid.Nil {
					t.Errorf("%s: %+v, want the zero id", name, got)
				}
				continue
			}
			read, _, err := client.Tasks(t.Context(), taskkit.Filter{IDs: []taskkit.ID{id}})
			if err != nil || len(read) != 1 {
				t.Fatal(read, err)
			}
			want := *read[0]
			want.Created, want.Modified, want.NotBefore, want.Wait, want.Elapsed = got.Created, got.Modified, got.NotBefore, got.Wait, got.Elapsed
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\ngot  %+v\nread %+v", name, got, want)
			}
		}
	})
}

// After an error nothing is known, also of an earlier call, and of several tasks none.
func TestWithSubmittedOfNone(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	migrated(t, db)
	ctx, k := t.Context(), badEvery("numbers_none", "")
	retired := taskkit.NewKind(taskkind.Definition[numbersSpec, countState, string]{Name: "numbers_retired", Retired: true})
	var registry taskkit.Registry
	got := taskkit.Task{}
	options := []taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithSubmitted(&got)}
	for name, submit := range map[string]func() (taskkit.ID, error){
		"several tasks": func() (taskkit.ID, error) {
			_, err := taskkit.SubmitMany(ctx, db, k, []numbersSpec{below(1), below(1)}, options...)
			return taskkit.ID{}, err
		},
		"no kind": func() (taskkit.ID, error) {
			return taskkit.Submit[numbersSpec, countState, string](ctx, db, nil, below(1), options...)
		},
		"a retired kind":  func() (taskkit.ID, error) { return taskkit.Submit(ctx, db, retired, below(1), options...) },
		"no handle":       func() (taskkit.ID, error) { return taskkit.Submit(ctx, nil, k, below(1), options...) },
		"an unknown kind": func() (taskkit.ID, error) { return registry.SubmitJSON(ctx, db, "nobody", nil, options...) },
		"no owner":        func() (taskkit.ID, error) { return taskkit.Submit(ctx, db, k, below(1), options[1:]...) },
		"a retry": func() (taskkit.ID, error) {
			return clientOf(db).RetryFailed(ctx, uuid.New(), taskkit.WithSubmitted(&got))
		},
		"an application": func() (taskkit.ID, error) {
			return clientOf(db).Apply(ctx, uuid.New(), taskkit.WithSubmitted(&got))
		},
		"corrections": func() (taskkit.ID, error) {
			return clientOf(db).RetryCorrected(ctx, uuid.New(), nil, taskkit.WithSubmitted(&got))
		},
	} {
		got = taskkit.Task{ID: uuid.New()}
		if _, err := submit(); err == nil || got.ID != uuid.Nil {
			t.Errorf("%s: %v, %s", name, err, got.ID)
		}
	}
}
