package caseload

import (
	"context"
	"fmt"
	"strings"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/alert"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/internal/demo/caseload/ent/predicate"
)

// Query chooses people. Criteria that are set must all hold; the zero Query is
// everybody.
type Query struct {
	Program string    // enrolled in it
	Status  string    // with this status, in Program if that is set
	Coach   string    // in this coach's care
	Name    string    // "last, first" begins with it, in any case
	Alert   uuid.UUID // an alert was raised for them by this task
}

// where returns the query as a predicate of persons.
func (q Query) where() predicate.Person {
	var all []predicate.Person
	if q.Program != "" || q.Status != "" {
		all = append(all, q.enrolled)
	}
	if q.Coach != "" {
		all = append(all, person.Coach(q.Coach))
	}
	if q.Name != "" {
		all = append(all, person.NameKeyHasPrefix(strings.ToLower(q.Name)))
	}
	if q.Alert != uuid.Nil {
		all = append(all, q.alerted)
	}
	return func(s *sql.Selector) {
		for _, p := range all {
			p(s)
		}
	}
}

// enrolled uses EXISTS, where ent's HasEnrolmentsWith uses IN: a page of the first
// thousand people then costs a thousand look-ups, and not a scan of all enrolments.
func (q Query) enrolled(s *sql.Selector) {
	t := sql.Dialect(s.Dialect()).Table(enrolment.Table)
	same := []*sql.Predicate{sql.ColumnsEQ(t.C(enrolment.FieldPersonID), s.C(person.FieldID))}
	if q.Program != "" {
		same = append(same, sql.EQ(t.C(enrolment.FieldProgramID), q.Program))
	}
	if q.Status != "" {
		same = append(same, sql.EQ(t.C(enrolment.FieldStatus), q.Status))
	}
	s.Where(sql.Exists(sql.Dialect(s.Dialect()).Select(t.C(enrolment.FieldID)).From(t).Where(sql.And(same...))))
}

func (q Query) alerted(s *sql.Selector) {
	t := sql.Dialect(s.Dialect()).Table(alert.Table)
	s.Where(sql.Exists(sql.Dialect(s.Dialect()).Select(t.C(alert.FieldID)).From(t).Where(sql.And(
		sql.ColumnsEQ(t.C(alert.FieldPersonID), s.C(person.FieldID)),
		sql.EQ(t.C(alert.FieldTask), q.Alert)))))
}

// Count counts the people that a query chooses now and that match within, and returns
// the last one, or the zero UUID without any. Later people have greater ids.
func Count(ctx context.Context, c *ent.Client, q Query, within ...predicate.Person) (n int, last uuid.UUID, err error) {
	n, err = c.Person.Query().Where(q.where()).Where(within...).Count(ctx)
	if err != nil || n == 0 {
		return 0, uuid.Nil, wrap("count people", err)
	}
	last, err = c.Person.Query().Where(q.where()).Where(within...).Order(ent.Desc(person.FieldID)).FirstID(ctx)
	if ent.IsNotFound(err) {
		return 0, uuid.Nil, nil // they have left since
	}
	return n, last, wrap("find the last person", err)
}

// People returns the next people of a query that match within: at most limit, in the
// order of their ids, after one id and up to another. The zero UUID is no bound.
func People(ctx context.Context, c *ent.Client, q Query, after, last uuid.UUID, limit int, within ...predicate.Person) ([]uuid.UUID, error) {
	query := c.Person.Query().Where(q.where()).Where(within...).Order(ent.Asc(person.FieldID)).Limit(limit)
	if after != uuid.Nil {
		query.Where(person.IDGT(after))
	}
	if last != uuid.Nil {
		query.Where(person.IDLTE(last))
	}
	ids, err := query.IDs(ctx)
	return ids, wrap("list people", err)
}

// Find reads people by id. It omits people who do not exist.
func Find(ctx context.Context, c *ent.Client, people []uuid.UUID) (map[uuid.UUID]*ent.Person, error) {
	found := make(map[uuid.UUID]*ent.Person, len(people))
	for part := range chunks(people) {
		ps, err := c.Person.Query().Where(person.IDIn(part...)).All(ctx)
		if err != nil {
			return nil, wrap("read people", err)
		}
		for _, p := range ps {
			found[p.ID] = p
		}
	}
	return found, nil
}

// existing returns the school ids that exist.
func existing(ctx context.Context, c *ent.Client, schoolIDs []string) (map[string]bool, error) {
	ids, err := c.Person.Query().Where(person.SchoolIDIn(schoolIDs...)).Select(person.FieldSchoolID).Strings(ctx)
	taken := make(map[string]bool, len(ids))
	for _, id := range ids {
		taken[id] = true
	}
	return taken, wrap("look for school ids", err)
}

// wrap adds the attempted operation to an error. It returns nil for nil.
func wrap(tried string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("caseload: %s: %w", tried, err)
}
