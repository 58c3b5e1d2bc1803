package sqlbase

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// scheduleColumns are the columns of a schedule in the order of scanSchedule.
const scheduleColumns = `id, version, name, execution_component_name, execution_spec, codec_revision, secrets, cron, time_zone, queue, priority,
  owner_id, run_as_id, misfire, paused, paused_by, paused_reason, next_date, next_wall, triggered, triggered_by, trigger_reason,
  last_date, last_wall, last_task_id, last_error, last_error_date, modified_by, created_by, created_date, modified_date,
  overlap, task_options, overdue, buffered_wall, replaced, alternations`

// scanSchedule reads a row, and what comes after its columns.
func scanSchedule(rows *sql.Rows, s *store.Schedule, more ...any) error {
	var (
		pausedBy, triggeredBy, lastTask                                 uuid.NullUUID
		options, overdue, buffered, replaced                            sql.NullString
		secrets, pauseReason, nextWall, triggerReason, lastWall, failed sql.NullString
	)
	err := rows.Scan(append([]any{
		&s.ID, &s.Version, &s.Name, &s.Kind, sqlrows.JSON(&s.Spec), &s.Revision, &secrets, &s.Cron, &s.Zone, &s.Queue, &s.Priority,
		&s.Owner, &s.RunAs, &s.Misfire, &s.Paused, &pausedBy, &pauseReason, sqlrows.Time(&s.NextAt), &nextWall, &s.Triggered, &triggeredBy, &triggerReason,
		sqlrows.Time(&s.LastAt), &lastWall, &lastTask, &failed, sqlrows.Time(&s.LastErrorAt), &s.ModifiedBy, &s.CreatedBy, sqlrows.Time(&s.Created), sqlrows.Time(&s.Modified),
		&s.Overlap, &options, &overdue, &buffered, &replaced, &s.Alternations,
	}, more...)...)
	s.Options, s.Buffered, s.Replaced = options.String, buffered.String, replaced.String
	if err == nil && overdue.Valid {
		err = json.Unmarshal([]byte(overdue.String), &s.Overdue)
	}
	if secrets.Valid {
		s.Secrets = &secrets.String
	}
	s.PausedBy, s.TriggeredBy, s.LastTask = pausedBy.UUID, triggeredBy.UUID, lastTask.UUID
	s.PauseReason, s.NextWall, s.TriggerReason, s.LastWall, s.LastError = pauseReason.String, nextWall.String, triggerReason.String, lastWall.String, failed.String
	return err
}

// scanShown reads a row with the present time after its columns.
func scanShown(rows *sql.Rows, s *store.Schedule) error {
	var now time.Time
	err := scanSchedule(rows, s, sqlrows.Time(&now))
	if !s.Paused && !s.NextAt.IsZero() {
		s.Late = max(now.Sub(s.NextAt), 0)
	}
	return err
}

// Schedule implements [store.Ops].
func (b *Base) Schedule(ctx context.Context, name string) (s store.Schedule, err error) {
	n, err := sqlrows.Query(ctx, b.q, b.SQL("SELECT "+scheduleColumns+", {now} FROM {s}taskkit_schedule WHERE name = $1"), []any{name},
		func(rows *sql.Rows) error { return scanShown(rows, &s) })
	if err == nil && n == 0 {
		err = store.ErrNoSchedule
	}
	if err != nil {
		return store.Schedule{}, fmt.Errorf("read the schedule %q: %w", name, err)
	}
	return s, nil
}

// ListSchedules implements [store.Ops].
func (b *Base) ListSchedules(ctx context.Context, after string, n int) (all []store.Schedule, err error) {
	_, err = sqlrows.Query(ctx, b.q, b.SQL("SELECT "+scheduleColumns+", {now} FROM {s}taskkit_schedule WHERE name > $1 ORDER BY name LIMIT $2"), []any{after, int64(limit(n))},
		func(rows *sql.Rows) error {
			var s store.Schedule
			err := scanShown(rows, &s)
			all = append(all, s)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("list schedules: %w", err)
	}
	return all, nil
}

// scheduleTries is how often a change is repeated after a conflict with another one.
const scheduleTries = 10

// ChangeSchedule implements [store.Requests]. It holds no lock while it decides.
func (b *Base) ChangeSchedule(ctx context.Context, name string, change func(now time.Time, s *store.Schedule) error) (store.Schedule, error) {
	for range scheduleTries {
		before := store.Schedule{Name: name}
		var now time.Time
		_, err := sqlrows.Query(ctx, b.q, b.SQL("SELECT {now}"), nil, func(rows *sql.Rows) error { return rows.Scan(sqlrows.Time(&now)) })
		if err == nil {
			_, err = sqlrows.Query(ctx, b.q, b.SQL("SELECT "+scheduleColumns+" FROM {s}taskkit_schedule WHERE name = $1"), []any{name},
				func(rows *sql.Rows) error { return scanSchedule(rows, &before) })
		}
		if err != nil {
			return store.Schedule{}, fmt.Errorf("read the schedule %q: %w", name, err)
		}
		s := before
		if err := change(now, &s); err != nil {
			return store.Schedule{}, err
		}
		reason := s.ChangeReason
		if s.ChangeReason = ""; reflect.DeepEqual(s, before) {
			return s, nil
		}
		recorded, err := store.ScheduleChange(&before, &s, s.ModifiedBy, reason)
		if err != nil {
			return store.Schedule{}, err
		}
		done, err := b.writeSchedule(ctx, &s, recorded)
		if err != nil {
			return store.Schedule{}, fmt.Errorf("store the schedule %q: %w", name, err)
		}
		if done {
			return b.Schedule(ctx, name)
		}
	}
	return store.Schedule{}, fmt.Errorf("store the schedule %q: %w", name, store.ErrScheduleChanged)
}

// writeSchedule inserts a schedule without a version, and changes another if it still has its
// version. False: another change came first.
func (b *Base) writeSchedule(ctx context.Context, s *store.Schedule, recorded *store.SettingChange) (done bool, err error) {
	p := new(scheduleParams)
	set := []string{
		"name", p.add(s.Name), "modified_by", p.add(s.ModifiedBy.String()), "execution_component_name", p.add(s.Kind),
		"execution_spec", p.add(string(s.Spec)), "codec_revision", p.add(int64(s.Revision)), "secrets", p.add(s.Secrets),
		"cron", p.add(s.Cron), "time_zone", p.add(s.Zone), "queue", p.add(s.Queue), "priority", p.add(int64(s.Priority)),
		"owner_id", p.add(s.Owner.String()), "run_as_id", p.add(s.RunAs.String()), "misfire", p.add(s.Misfire),
		"overlap", p.add(cmp.Or(s.Overlap, "allow")), "task_options", p.add(optionalText(s.Options)), "replaced", p.add(optionalText(s.Replaced)), "alternations", p.add(int64(s.Alternations)),
		"paused", p.add(s.Paused), "paused_by", p.add(optionalID(s.PausedBy)), "paused_reason", p.add(optionalText(classify.Clean(s.PauseReason))),
		"triggered", p.add(s.Triggered), "triggered_by", p.add(optionalID(s.TriggeredBy)), "trigger_reason", p.add(optionalText(classify.Clean(s.TriggerReason))),
		"last_error", p.add(optionalText(classify.Clean(s.LastError))), "last_error_date", b.instant(p.add(optionalTime(s.LastErrorAt))),
	}
	set = append(set, b.nextOf(s, p)...)
	var query string
	if s.Version == 0 {
		set = append(set, "id", p.add(store.NewID().String()), "created_by", p.add(s.ModifiedBy.String()))
		query = "INSERT INTO {s}taskkit_schedule (" + joinEven(set, 0) + ")\nVALUES (" + joinEven(set, 1) + ") ON CONFLICT (name) DO NOTHING"
	} else {
		set = append(set, "version", "version + 1", "modified_date", "{now}")
		query = "UPDATE {s}taskkit_schedule SET " + setClauses(set[2:]) + "\nWHERE name = $1 AND version = " + p.add(s.Version)
	}
	err = b.write(ctx, func(q store.Querier) error {
		r, err := q.ExecContext(ctx, b.SQL(query), p.args...)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		if done = n == 1; err != nil || !done {
			return err
		}
		return b.recordSetting(ctx, q, recorded)
	})
	return done, err
}

// DeleteSchedule implements [store.Requests].
func (b *Base) DeleteSchedule(ctx context.Context, name string, by uuid.UUID, reason string) error {
	err := b.write(ctx, func(q store.Querier) error {
		var s store.Schedule
		n, err := sqlrows.Query(ctx, q, b.SQL("DELETE FROM {s}taskkit_schedule WHERE name = $1 RETURNING "+scheduleColumns), []any{name},
			func(rows *sql.Rows) error { return scanSchedule(rows, &s) })
		if err != nil {
			return err
		}
		if n == 0 {
			return store.ErrNoSchedule
		}
		recorded, err := store.ScheduleChange(&s, new(store.Schedule), by, reason)
		if err != nil {
			return err
		}
		return b.recordSetting(ctx, q, recorded)
	})
	if err != nil {
		return fmt.Errorf("delete the schedule %q: %w", name, err)
	}
	return nil
}

// DueSchedules implements [store.Upkeep]. Without schedules it is one look into an
// empty index.
func (b *Base) DueSchedules(ctx context.Context, p store.DueSchedules) (found store.SchedulesFound, err error) {
	var kinds []string
	for kind, revisions := range p.Kinds {
		for _, r := range revisions {
			kinds = append(kinds, kind+":"+strconv.Itoa(r))
		}
	}
	found.Next = -1
	_, err = sqlrows.Query(ctx, b.q, b.Fixed("SELECT "+scheduleColumns+", due_date, {now},\n"+
		"  EXISTS (SELECT 1 FROM {s}taskkit_queued_task q WHERE q.id = last_task_id AND q.workflow_status"+AsExpression+" IN ('QUEUED', 'SCHEDULING', 'EXECUTING')) FROM {s}taskkit_schedule\n"+
		"WHERE due_date IS NOT NULL AND execution_component_name || ':' || CAST(codec_revision AS text) "+b.anyText("$1")+
		"\nORDER BY due_date, id LIMIT $2 OFFSET $3"), []any{b.textsArg(kinds), int64(p.Limit), int64(p.Skip)},
		func(rows *sql.Rows) error {
			var (
				s   store.Schedule
				due time.Time
			)
			if err := scanSchedule(rows, &s, sqlrows.Time(&due), sqlrows.Time(&found.Now), &s.LastOpen); err != nil {
				return err
			}
			switch wait := due.Sub(found.Now); {
			case wait <= 0:
				found.Due = append(found.Due, s)
			case found.Next < 0:
				found.Next = wait
			}
			return nil
		})
	if err != nil {
		return store.SchedulesFound{}, fmt.Errorf("look for schedules that are due: %w", err)
	}
	return found, nil
}

// nextOf are the columns of the next fire, and their values.
func (b *Base) nextOf(s *store.Schedule, p *scheduleParams) []string {
	next := b.instant(p.add(optionalTime(s.NextAt)))
	due := next
	switch {
	case s.Triggered:
		due = "{now}"
	case s.Paused:
		due = "NULL"
	case len(s.Overdue) > 0 || s.Buffered != "":
		due = "{now}"
	}
	overdue := any(nil)
	if len(s.Overdue) > 0 {
		text, _ := json.Marshal(s.Overdue) //nolint:errchkjson // texts and times between the years 1 and 9999
		overdue = string(text)
	}
	return []string{"next_date", next, "next_wall", p.add(optionalText(s.NextWall)), "overdue", p.add(overdue), "buffered_wall", p.add(optionalText(s.Buffered)), "due_date", due}
}

// scheduleParams are the parameters of a statement.
type scheduleParams struct{ args []any }

// add adds a parameter and returns its name.
func (p *scheduleParams) add(v any) string {
	if text, ok := v.(*string); ok {
		if v = nil; text != nil {
			v = *text
		}
	}
	p.args = append(p.args, v)
	return "$" + strconv.Itoa(len(p.args))
}

// setClauses are columns and their values for an UPDATE.
func setClauses(set []string) (text string) {
	for i := 0; i < len(set); i += 2 {
		if i > 0 {
			text += ", "
		}
		text += set[i] + " = " + set[i+1]
	}
	return text
}

// joinEven joins every other element.
func joinEven(set []string, from int) (text string) {
	for i := from; i < len(set); i += 2 {
		if i > from {
			text += ", "
		}
		text += set[i]
	}
	return text
}

// instant is the SQL of a time that is a parameter of [optionalTime].
func (t Statements) instant(param string) string {
	if t.dialect == dialect.SQLite {
		return "strftime('%Y-%m-%d %H:%M:%f', " + param + ")"
	}
	return param + "::text::timestamptz"
}

// optionalTime is a time as a parameter; the zero time is NULL.
func optionalTime(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return instantArg(at)
}

// instantArg is a time as a parameter.
func instantArg(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000000") + "+00:00" }

// optionalText is a text as a parameter; "" is NULL.
func optionalText(s string) any {
	if s == "" {
		return nil
	}
	return s
}
