package executors_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/earlyalert"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/gen/earlyalerttask"
	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

func alertSpec(who targets.Targets) earlyalert.Spec {
	return earlyalert.Spec{
		Targets: who, Category: "grades", Reason: "midterms",
		Mail: &sendemail.Letter{Subject: "Please come to see us", Body: "Dear {first_name}, ..."},
	}
}

func TestEarlyAlertUnderFaults(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		tasktest.TestExecutor(t, tasktest.Case[earlyalert.Spec, earlyalert.State, earlyalert.Result]{
			Kind: earlyalerttask.Kind, Open: open, Setup: setup, Limit: limit,
			New: func(testing.TB, *sql.DB) taskkit.Executor[earlyalert.Spec, earlyalert.State] {
				return &earlyalert.Executor{SubmitMail: sendemailtask.Submit, BucketSize: bucketSize}
			},
			Spec: alertSpec(everyone()),
			Snapshot: func(ctx context.Context, db *sql.DB) (any, error) {
				touched, err := ledger(ctx, db)
				if err != nil {
					return nil, err
				}
				// Exactly one mail task, or none in a part.
				table := "taskkit_queued_task"
				if _, err := db.ExecContext(ctx, "SELECT 1 FROM taskkit.taskkit_queued_task LIMIT 1"); err == nil {
					table = "taskkit." + table
				}
				mails, err := lines(ctx, db, "SELECT execution_component_name, queue, count(*) FROM "+table+
					" WHERE execution_component_name = 'send_email' GROUP BY execution_component_name, queue")
				return append(touched, mails...), err
			},
			Part: partOf,
		})
	})
}

func TestEarlyAlertIsFollowedByMailToWhomItWasRaised(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, c, people := filled(t, open0)
		me := uuid.New()
		o := tasktest.Run(t, earlyalerttask.Kind, &earlyalert.Executor{SubmitMail: sendemailtask.Submit, BucketSize: bucketSize},
			alertSpec(targets.Targets{People: append([]uuid.UUID{uuid.New()}, people[:45]...)}),
			tasktest.WithDB(db), tasktest.WithLimit(limit), tasktest.WithSubmitOptions(taskkit.OwnedBy(me)))
		completed(t, o, 45, 1, 0) // a list is not divided
		clean(t, c, caseload.ActionAlert, o.Task.ID, people[:45])

		tasks, _, err := o.Client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{"send_email"}})
		if err != nil || len(tasks) != 1 {
			t.Fatalf("%d mail tasks, %v; want one", len(tasks), err)
		}
		mail, err := sendemailtask.Get(t.Context(), o.Client, tasks[0].ID)
		if err != nil {
			t.Fatal(err)
		}
		if mail.Task.Owner != me || mail.Task.Follows != o.Task.ID || mail.Task.Progress.Total != 45 {
			t.Errorf("the mail task is %v's, following %v, for %d; want %v's, following %v, for 45", mail.Task.Owner, mail.Task.Follows, mail.Task.Progress.Total, me, o.Task.ID)
		}
		page, err := mail.Spec.Targets.Query.Page(t.Context(), c, targets.Cursor{}, 1000)
		if err != nil || len(page.People) != 45 || page.People[0] != people[0] || page.People[44] != people[44] {
			t.Errorf("it is for %d people, %v; want the 45", len(page.People), err)
		}
	})
}

// The buckets of a task, and the ranges of a list, raise its alerts, and there is one mail task for all of them.
func TestEarlyAlertInBuckets(t *testing.T) {
	t.Parallel()
	onEachDivision(t, func(t *testing.T, open0 func(testing.TB) *sql.DB, d division) {
		db, c, people := filled(t, open0)
		o := tasktest.Run(t, earlyalerttask.Kind, &earlyalert.Executor{SubmitMail: sendemailtask.Submit, BucketSize: d.bucketSize},
			alertSpec(d.of(people)), tasktest.WithDB(db), tasktest.WithLimit(limit), tasktest.WithSubmitOptions(taskkit.WithMaxParallel(2)))
		completedBuckets(t, o, d.buckets, len(people), 0)
		clean(t, c, caseload.ActionAlert, o.Task.ID, people)
		r, err := earlyalerttask.Fetch(t.Context(), o.Client, o.Task.ID)
		if err != nil {
			t.Fatal(err)
		}
		mails, _, err := o.Client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{"send_email"}})
		if err != nil || len(mails) != 1 || r.Mail != mails[0].ID || r.Raised != len(people) || mails[0].Progress.Total != int64(len(people)) {
			t.Errorf("%d mail tasks (%v); the result is %+v, want %d raised", len(mails), err, r, len(people))
		}
	})
}

func TestEarlyAlertForNobodyTellsNobody(t *testing.T) {
	t.Parallel()
	db, _, _ := filled(t, tasktest.Open)
	o := tasktest.Run(t, earlyalerttask.Kind, &earlyalert.Executor{SubmitMail: sendemailtask.Submit, BucketSize: bucketSize},
		alertSpec(targets.Targets{Query: &targets.Query{Coach: "nobody"}}), tasktest.WithDB(db))
	completedBuckets(t, o, 1, 0, 0)
	if tasks, _, err := o.Client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{"send_email"}}); err != nil || len(tasks) != 0 {
		t.Errorf("%d mail tasks, %v; want none", len(tasks), err)
	}
}
