package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// lockedKeys locks the rows of keys, and makes those that do not exist. A key is locked in the
// order of the list, which is sorted.
var lockedKeys = newRecorded("limits", "taskkit_limit", "\nON CONFLICT (limit_key) DO UPDATE SET modified_date = excluded.modified_date",
	sqlrows.Text("id", func(*string) string { return store.NewID().String() }).As("uuid"),
	sqlrows.Text("limit_key", func(key *string) string { return *key }),
)

// limitedRow is the row of a task under one of its limits.
type limitedRow struct {
	task    uuid.UUID
	fence   int64
	waiting bool
	store.Limit
}

// A late answer to a former worker of the task changes nothing.
var recordedLimits = newRecorded("limits", "taskkit_task_limit", "\nON CONFLICT (task_id, limit_key) DO UPDATE"+
	" SET fence = excluded.fence, at_most = excluded.at_most, waiting = excluded.waiting WHERE taskkit_task_limit.fence <= excluded.fence",
	sqlrows.Text("id", func(*limitedRow) string { return store.NewID().String() }).As("uuid"),
	sqlrows.Text("task_id", func(r *limitedRow) string { return r.task.String() }).As("uuid"),
	sqlrows.Text("limit_key", func(r *limitedRow) string { return r.Key }),
	sqlrows.Number("fence", func(r *limitedRow) int64 { return r.fence }),
	sqlrows.Number("at_most", func(r *limitedRow) int64 { return int64(r.AtMost) }).As("integer"),
	sqlrows.Text("waiting", func(r *limitedRow) string { return map[bool]string{false: "0", true: "1"}[r.waiting] }).As("boolean"),
)

// lockKeys locks keys until the transaction ends. Only a transaction that has locked a key grants its
// permits.
func (t Statements) lockKeys(ctx context.Context, q store.Querier, keys []string) error {
	slices.Sort(keys)
	keys = slices.Compact(keys)
	rows := make([]*string, len(keys))
	for i := range keys {
		rows[i] = &keys[i]
	}
	return recordRows(ctx, t, q, &lockedKeys, rows)
}

// permits are the permits of some keys, in a transaction that has locked the keys.
type permits struct {
	executing map[string]map[uuid.UUID]bool // the tasks with a permit
	set       map[string]int                // limits that an operator has set
	stale     []string                      // the rows of tasks that neither have a permit nor wait for one
}

// limit returns the number of permits, by the operator or by the task.
func (p permits) limit(l store.Limit) int {
	if n, ok := p.set[l.Key]; ok {
		return n
	}
	return l.AtMost
}

// full reports whether no permit is free for a task.
func (p permits) full(task uuid.UUID, l store.Limit) bool {
	h := p.executing[l.Key]
	return !h[task] && len(h) >= p.limit(l)
}

// readPermits reads which tasks have permits of keys. The rows of tasks that have none any more are stale.
func (t Statements) readPermits(ctx context.Context, q store.Querier, keys []string) (permits, error) {
	p := permits{executing: make(map[string]map[uuid.UUID]bool), set: make(map[string]int)}
	_, err := sqlrows.Query(ctx, q, t.SQL(`SELECT k.limit_key, k.at_most, l.id, l.task_id, coalesce(q.fence = l.fence AND q.workflow_status`+AsExpression+` IN ('SCHEDULING', 'EXECUTING'), false)
FROM {s}taskkit_limit k LEFT JOIN {s}taskkit_task_limit l ON l.limit_key = k.limit_key AND NOT l.waiting
  LEFT JOIN {s}taskkit_queued_task q ON q.id = l.task_id
WHERE k.limit_key `+t.anyText("$1")), []any{t.textsArg(keys)}, func(rows *sql.Rows) error {
		var (
			key      string
			most     sql.NullInt64
			id       uuid.NullUUID
			task     uuid.NullUUID
			executes bool
		)
		if err := rows.Scan(&key, &most, &id, &task, &executes); err != nil {
			return err
		}
		if most.Valid {
			p.set[key] = int(most.Int64)
		}
		switch {
		case !id.Valid:
		case !executes:
			p.stale = append(p.stale, id.UUID.String())
		case p.executing[key] == nil:
			p.executing[key] = map[uuid.UUID]bool{task.UUID: true}
		default:
			p.executing[key][task.UUID] = true
		}
		return nil
	})
	return p, err
}

// forgetLimited removes rows of tasks under limits. Only a worker may.
func (t Statements) forgetLimited(ctx context.Context, q store.Querier, rows []string) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := q.ExecContext(ctx, t.SQL("DELETE FROM {s}taskkit_task_limit WHERE id "+t.anyOf("$1", "::uuid[]")), t.textsArg(rows))
	return err
}

// TakePermits implements [store.Sessions].
func (b *Base) TakePermits(ctx context.Context, tasks []store.PermitRequest) ([]store.PermitAnswer, error) {
	var keys []string
	for _, a := range tasks {
		for _, l := range a.Limits {
			keys = append(keys, l.Key)
		}
	}
	answers := make([]store.PermitAnswer, len(tasks))
	err := b.write(ctx, func(q store.Querier) error {
		if err := b.lockKeys(ctx, q, keys); err != nil {
			return err
		}
		p, err := b.readPermits(ctx, q, keys)
		if err != nil {
			return err
		}
		if err := b.forgetLimited(ctx, q, p.stale); err != nil {
			return err
		}
		newest, err := b.newestVersions(ctx, q, tasks)
		if err != nil {
			return err
		}
		var changed []*limitedRow
		for i, a := range tasks {
			if v := a.Versioned; v != nil && newest[v.Limit().Key] > v.Version {
				answers[i] = store.PermitAnswer{Newest: newest[v.Limit().Key]}
				continue
			}
			answers[i] = store.PermitAnswer{OK: true}
			if n := slices.IndexFunc(a.Limits, func(l store.Limit) bool { return p.full(a.ID, l) }); n >= 0 {
				answers[i] = store.PermitAnswer{Full: store.Limit{Key: a.Limits[n].Key, AtMost: p.limit(a.Limits[n])}}
			}
			for _, l := range a.Limits {
				if answers[i].OK {
					if p.executing[l.Key] == nil {
						p.executing[l.Key] = make(map[uuid.UUID]bool)
					}
					p.executing[l.Key][a.ID] = true
				}
				// A task waits only under the limit that was full, and is woken by that one.
				if answers[i].OK || l.Key == answers[i].Full.Key {
					changed = append(changed, &limitedRow{a.ID, a.Fence, !answers[i].OK, l})
				}
			}
		}
		return recordRows(ctx, b.Statements, q, &recordedLimits, changed)
	})
	if err != nil {
		return nil, fmt.Errorf("get permits for %d tasks: %w", len(tasks), err)
	}
	return answers, nil
}

// WakeWaiting implements [store.Upkeep].
func (b *Base) WakeWaiting(ctx context.Context, keys []string) (woken []uuid.UUID, err error) {
	keys, err = b.limitKeys(ctx, b.q, "SELECT k.limit_key FROM {s}taskkit_limit k WHERE k.limit_key "+b.anyText("$1")+
		" AND (SELECT 1 FROM "+limitRows("l.waiting", 1)+" w) = 1", b.textsArg(keys))
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	err = b.write(ctx, func(q store.Querier) error {
		if err := b.lockKeys(ctx, q, keys); err != nil {
			return err
		}
		first, stale, err := b.firstOfKeys(ctx, q, keys)
		if err == nil {
			err = b.forgetLimited(ctx, q, stale)
		}
		if err == nil {
			woken, err = b.wakeLimited(ctx, q, first)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("wake tasks that wait under %d limits: %w", len(keys), err)
	}
	return woken, nil
}

// firstOfKeys returns the first tasks that wait for permits of keys, as many as there are permits, and the rows that are stale.
// The caller has locked the keys.
func (t Statements) firstOfKeys(ctx context.Context, q store.Querier, keys []string) (first []uuid.UUID, stale []string, err error) {
	p, err := t.readPermits(ctx, q, keys)
	if err != nil {
		return nil, nil, err
	}
	for _, key := range keys {
		ids, err := t.firstWaiting(ctx, q, key, &p)
		if err != nil {
			return nil, nil, err
		}
		first = append(first, ids...)
	}
	return first, p.stale, nil
}

// wakeLimited makes tasks due that wait for permits. A task that is woken goes before those that were submitted after it: it has
// lost its time in the queue, and would wait for all that have come meanwhile. One whose row is locked, by a request in a
// caller's transaction, is left to the reaper: a wait for it would keep the keys locked.
func (t Statements) wakeLimited(ctx context.Context, q store.Querier, tasks []uuid.UUID) ([]uuid.UUID, error) {
	if len(tasks) == 0 {
		return nil, nil
	}
	woken, err := sqlrows.IDs(ctx, q, t.SQL(`UPDATE {s}taskkit_queued_task SET not_before = CASE WHEN created_date < {now} THEN created_date ELSE {now} END, waiting_reason = '`+lifecycle.ReasonPermitFree+`', modified_date = {now}
WHERE id IN (SELECT q.id FROM {s}taskkit_queued_task q WHERE q.id `+t.anyID("$1")+` AND q.workflow_status`+AsExpression+` = 'QUEUED' AND q.not_before > {now}
  ORDER BY q.id `+t.lockRowSkipping("q")+`) RETURNING id`), t.idsArg(tasks))
	if err != nil || len(woken) == 0 {
		return nil, err
	}
	return woken, t.notify(ctx, q, "limits")
}

// firstWaiting returns the first tasks that wait for a permit of a key, one for each free permit. The rows of
// tasks that do not wait any more are stale. A task that is paused, or whose queue is paused, takes no permit before it is resumed:
// it is returned without being counted. The caller has locked the key.
func (t Statements) firstWaiting(ctx context.Context, q store.Querier, key string, p *permits) (found []uuid.UUID, err error) {
	free, able := 1, 0 // free is known with the first task
	for after := uuid.Nil; able < free && len(found) < page; {
		n, err := sqlrows.Query(ctx, q, t.SQL(`SELECT l.id, l.task_id, l.at_most, q.id IS NOT NULL AND q.fence = l.fence AND q.workflow_status`+AsExpression+` IN ('QUEUED', 'SCHEDULING', 'EXECUTING'),
  coalesce(q.workflow_status`+AsExpression+` = 'QUEUED' AND q.not_before > {now}, false),
  coalesce(q.control = 'PAUSE' OR EXISTS (SELECT 1 FROM {s}taskkit_queue u WHERE u.name = q.queue AND u.paused), false)
FROM {s}taskkit_task_limit l LEFT JOIN {s}taskkit_queued_task q ON q.id = l.task_id
WHERE l.limit_key = $1 AND l.waiting AND l.task_id > $2 ORDER BY l.task_id LIMIT $3`), []any{key, after.String(), int64(page)}, func(rows *sql.Rows) error {
			var (
				row, task             uuid.UUID
				most                  int
				waits, parked, paused bool
			)
			if err := rows.Scan(&row, &task, &most, &waits, &parked, &paused); err != nil {
				return err
			}
			after, free = task, p.limit(store.Limit{Key: key, AtMost: most})-len(p.executing[key])
			switch {
			case !waits:
				p.stale = append(p.stale, row.String())
			case parked && able < free:
				found = append(found, task)
				if !paused {
					able++
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if n < page {
			break
		}
	}
	return found, nil
}

// areLimits reads whether there are limits.
func (b *Base) areLimits(some *bool) Step {
	return Step{
		Text: b.SQL("SELECT 1 FROM {s}taskkit_limit LIMIT 1"),
		Row: func(func(...any) error) error {
			*some = true
			return nil
		},
		What: "look for limits",
	}
}

// reapLimits makes the checks under limits that a worker which died may not have made, and removes
// what is not needed any more.
func (b *Base) reapLimits(ctx context.Context, r *store.Reaped) error {
	for after := ""; ; {
		keys, err := b.limitKeys(ctx, b.q, waitingKeys, after, int64(page))
		if err != nil {
			return fmt.Errorf("look for tasks that wait under limits: %w", err)
		}
		if len(keys) == 0 {
			break
		}
		after = keys[len(keys)-1]
		woken, err := b.WakeWaiting(ctx, keys)
		if err != nil {
			return err
		}
		r.Woken = append(r.Woken, woken...)
	}
	old, err := b.limitKeys(ctx, b.q, `SELECT k.limit_key FROM {s}taskkit_limit k WHERE k.at_most IS NULL AND k.modified_date < `+b.ago("$1")+`
  AND NOT (`+limitUsed+`) LIMIT $2`, int64(unusedLimit), int64(page))
	if err != nil || len(old) == 0 {
		return err
	}
	return b.write(ctx, func(q store.Querier) error {
		// Who waits for the lock of a key makes its row again.
		if err := b.lockKeys(ctx, q, old); err != nil {
			return err
		}
		p, err := b.readPermits(ctx, q, old)
		if err != nil {
			return err
		}
		if err := b.forgetLimited(ctx, q, p.stale); err != nil {
			return err
		}
		_, err = q.ExecContext(ctx, b.SQL(`DELETE FROM {s}taskkit_limit AS k WHERE k.at_most IS NULL AND k.limit_key `+b.anyText("$1")+`
  AND (SELECT 1 FROM `+limitRows("NOT l.waiting", 1)+` w) IS NULL AND (SELECT 1 FROM `+limitRows("l.waiting", 1)+` w) IS NULL`), b.textsArg(old))
		return err
	})
}

// unusedLimit is how long, in milliseconds, the row of a key stays that no task has.
const unusedLimit = 60 * 60 * 1000

// limitRows is a table of the first rows of a key k that meet a condition. Each of the two partial indexes serves one of waiting
// and NOT waiting, by its order whatever the planner expects.
func limitRows(condition string, most int) string {
	return "(SELECT l.task_id, l.fence, l.at_most FROM {s}taskkit_task_limit l WHERE l.limit_key = k.limit_key AND " + condition +
		" ORDER BY l.task_id LIMIT " + strconv.Itoa(most) + ")"
}

// limitedTask is a condition on the task of a row l of a limit, which is looked up by its id.
func limitedTask(condition string) string {
	return "(SELECT " + condition + " FROM {s}taskkit_queued_task q WHERE q.id = l.task_id)"
}

var (
	// executingLimited and waitingLimited are the rows of a key k that are read: one more than are counted. Rows are stale until
	// a worker removes them.
	executingLimited = limitRows("NOT l.waiting", store.LimitRead+1)
	waitingLimited   = limitRows("l.waiting", store.LimitRead+1)
	bothLimited      = "(SELECT h.task_id, h.at_most FROM " + executingLimited + " h UNION ALL SELECT w.task_id, w.at_most FROM " + waitingLimited + " w)"
	openLimited      = limitedTask("q.workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')")

	// limitUsed is the condition that a task has the key k, or that all rows are stale that are read for that.
	limitUsed = `(SELECT coalesce(max(CASE WHEN ` + openLimited + ` THEN 1 END), CASE WHEN count(*) < ` + strconv.Itoa(limitSeen) + ` THEN 0 ELSE 1 END)
    FROM (SELECT h.task_id FROM ` + limitRows("NOT l.waiting", limitSeen) + ` h UNION ALL SELECT w.task_id FROM ` + limitRows("l.waiting", limitSeen) + ` w) l) = 1`
)

// limitSeen is how many rows of a key are read to see whether a task has it.
const limitSeen = 10

// waitingKeys is a query of the keys after one under which tasks wait, which reads one row of each.
const waitingKeys = `WITH RECURSIVE keys(limit_key) AS (
  SELECT (SELECT l.limit_key FROM {s}taskkit_task_limit l WHERE l.waiting AND l.limit_key > $1 ORDER BY l.limit_key, l.task_id LIMIT 1)
  UNION ALL
  SELECT (SELECT l.limit_key FROM {s}taskkit_task_limit l WHERE l.waiting AND l.limit_key > k.limit_key ORDER BY l.limit_key, l.task_id LIMIT 1)
  FROM keys k WHERE k.limit_key IS NOT NULL
) SELECT limit_key FROM keys WHERE limit_key IS NOT NULL LIMIT $2`

// Limited implements [store.Ops].
func (b *Base) Limited(ctx context.Context, after string, limit int) ([]store.LimitUse, error) {
	var uses []store.LimitUse
	_, err := sqlrows.Query(ctx, b.q, b.SQL(`WITH page AS (
  SELECT k.limit_key, k.at_most FROM {s}taskkit_limit k
  WHERE k.limit_key > $1 AND k.limit_key NOT LIKE '`+lifecycle.ReservedLimit+`%' AND (k.at_most IS NOT NULL OR `+limitUsed+`)
  ORDER BY k.limit_key LIMIT $2
)
SELECT k.limit_key, k.at_most,
  (SELECT count(*) FROM `+executingLimited+` l WHERE `+limitedTask("q.fence = l.fence AND q.workflow_status IN ('SCHEDULING', 'EXECUTING')")+`),
  (SELECT count(*) FROM `+waitingLimited+` l WHERE `+limitedTask("q.fence = l.fence AND q.workflow_status = 'QUEUED'")+`),
  (SELECT count(*) FROM `+waitingLimited+` l),
  (SELECT coalesce(min(CASE WHEN `+openLimited+` THEN l.at_most END), min(l.at_most)) FROM `+bothLimited+` l)
FROM `+b.few("k", "page", "true", "limit_key", "at_most")+` ORDER BY k.limit_key`), []any{after, int64(limit)}, func(rows *sql.Rows) error {
		var (
			u         store.LimitUse
			read      int64
			set, most sql.NullInt64
		)
		err := rows.Scan(&u.Key, &set, &u.Executing, &u.Waiting, &read, &most)
		u.AtMost, u.Set = int(most.Int64), set.Valid
		u.Waiting, u.MoreWaiting = min(u.Waiting, store.LimitRead), read > store.LimitRead
		if set.Valid {
			u.AtMost = int(set.Int64)
		}
		uses = append(uses, u)
		return err
	})
	if err == nil {
		err = b.firstTasks(ctx, uses)
	}
	if err != nil {
		return nil, fmt.Errorf("list the limits: %w", err)
	}
	return uses, nil
}

// SetLimit implements [store.Requests]. Rows that are stale are left to the workers: an operator may not remove them.
func (b *Base) SetLimit(ctx context.Context, key string, atMost int, by uuid.UUID, reason string) error {
	var most any
	if atMost > 0 {
		most = int64(atMost)
	}
	err := b.write(ctx, func(q store.Querier) error {
		if err := b.lockKeys(ctx, q, []string{key}); err != nil {
			return err
		}
		var was int
		_, err := sqlrows.Query(ctx, q, b.SQL("SELECT coalesce(at_most, 0) FROM {s}taskkit_limit WHERE limit_key = $1"), []any{key},
			func(rows *sql.Rows) error { return rows.Scan(&was) })
		if err != nil {
			return err
		}
		if recorded := store.LimitChange(key, was, atMost, by, reason); recorded != nil {
			if _, err := q.ExecContext(ctx, b.SQL("UPDATE {s}taskkit_limit SET at_most = $2, modified_by = $3, modified_date = {now} WHERE limit_key = $1"), key, most, optionalID(by)); err != nil {
				return err
			}
			if err := b.recordSetting(ctx, q, recorded); err != nil {
				return err
			}
		}
		first, _, err := b.firstOfKeys(ctx, q, []string{key})
		if err == nil {
			_, err = b.wakeLimited(ctx, q, first)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("set the limit %q: %w", key, err)
	}
	return nil
}

// limitKeys runs a query that returns a column of keys.
func (t Statements) limitKeys(ctx context.Context, q store.Querier, query string, args ...any) ([]string, error) {
	found := make(map[string]struct{})
	_, err := sqlrows.Query(ctx, q, t.SQL(query), args, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		found[text] = struct{}{}
		return err
	})
	return slices.Sorted(maps.Keys(found)), err
}

// firstTasks reads which tasks have the permits.
func (b *Base) firstTasks(ctx context.Context, uses []store.LimitUse) error {
	var keys []string
	for _, u := range uses {
		if u.Executing > 0 {
			keys = append(keys, u.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found, err := b.permitTasks(ctx, keys)
	for i := range uses {
		if t := found[uses[i].Key]; t != nil {
			uses[i].First = t.First
		}
	}
	return err
}
