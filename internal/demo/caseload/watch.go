package caseload

import (
	"context"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/internal/demo/caseload/ent/watch"
)

// StartWatching makes watcher watch people. A watch that exists is renewed.
// People who do not exist are Missing.
func StartWatching(ctx context.Context, c *ent.Client, task, watcher uuid.UUID, people []uuid.UUID) (Outcome, error) {
	var out Outcome
	for part := range chunks(people) {
		var already []uuid.UUID
		err := c.Watch.Query().Where(watch.Watcher(watcher), watch.PersonIDIn(part...), watch.Active(true)).
			Select(watch.FieldPersonID).Scan(ctx, &already)
		if err != nil {
			return Outcome{}, wrap("read watches", err)
		}
		known, err := c.Person.Query().Where(person.IDIn(part...)).IDs(ctx)
		if err != nil {
			return Outcome{}, wrap("read people", err)
		}
		found := make(map[uuid.UUID]bool, len(known))
		rows := make([]*ent.WatchCreate, len(known))
		for i, p := range known {
			found[p] = true
			rows[i] = c.Watch.Create().SetWatcher(watcher).SetPersonID(p).SetActive(true).SetTask(task)
		}
		out.Already = append(out.Already, already...)
		out.Missing = append(out.Missing, without(part, found)...)
		err = c.Watch.CreateBulk(rows...).
			OnConflict(sql.ConflictColumns(watch.FieldWatcher, watch.FieldPersonID), sql.ResolveWithNewValues()).
			Update(func(u *ent.WatchUpsert) { u.UpdateActive().UpdateTask() }).Exec(ctx)
		if err != nil {
			return Outcome{}, wrap("write watches", err)
		}
	}
	return out, nil
}

// StopWatching ends the watches of watcher. People who were never watched are
// Missing, and people whose watch has already ended are Already.
func StopWatching(ctx context.Context, c *ent.Client, task, watcher uuid.UUID, people []uuid.UUID) (Outcome, error) {
	var out Outcome
	for part := range chunks(people) {
		theirs := watch.And(watch.Watcher(watcher), watch.PersonIDIn(part...))
		rows, err := c.Watch.Query().Where(theirs).All(ctx)
		if err != nil {
			return Outcome{}, wrap("read watches", err)
		}
		found := make(map[uuid.UUID]bool, len(rows))
		for _, w := range rows {
			found[w.PersonID] = true
			if !w.Active {
				out.Already = append(out.Already, w.PersonID)
			}
		}
		out.Missing = append(out.Missing, without(part, found)...)
		if err := c.Watch.Update().Where(theirs).SetActive(false).SetTask(task).Exec(ctx); err != nil {
			return Outcome{}, wrap("end watches", err)
		}
	}
	return out, nil
}
