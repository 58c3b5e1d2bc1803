package oracle_test

// childOf makes a task a child of another.
func (l *life) childOf(parent *life) *life {
	l.Helper()
	return l.set("parent_id = '" + parent.id + "'")
}

var familyViolations = []violation{
	{"an open child of an ended parent", []string{"I30: is open, and its parent has ended"}, func(w *env) string {
		parent, child := w.submit(), w.submit()
		child.childOf(parent)
		parent.set(claim).set(start).batch(0, 10, finish)
		return child.id
	}},
	{"a child that ends after its parent", []string{"I30: ended after its parent"}, func(w *env) string {
		parent, child := w.submit(), w.submit()
		child.childOf(parent)
		parent.set(claim).set(start).batch(0, 10, finish)
		return child.set(claim).set(start).batch(0, 10, "workflow_status = 'COMPLETED', scheduled_by_process = NULL, workflow_stopped_date = '9000-01-01 00:00:00'").id
	}},
	{"a child that was open when its parent failed, which was retried", []string{"I30: was open when its parent ended"}, func(w *env) string {
		parent := w.submit()
		child := w.submit("parent_id = '" + parent.id + "'")
		parent.set(claim).set(start).attempt(1, 1, "permanent").set(fail)
		child.set(claim).set(start).batch(0, 10, finish)
		parent.event("retry").set("workflow_status = 'QUEUED', workflow_stopped_date = NULL").set(claim).set(start).batch(0, 10, finish)
		return child.id
	}},
	{"a child whose parent was removed", []string{"I30: is there, and its parent was removed"}, func(w *env) string {
		parent := w.submit()
		child, gone := w.whole("parent_id = '"+parent.id+"'"), w.whole("parent_id = '"+parent.id+"'")
		parent.event("delete").remove()
		gone.remove() // as it must be
		return child.id
	}},
	{"a bucket that is there twice", []string{"I30: has the number of another bucket", "I30: has the segment of another bucket"}, func(w *env) string {
		parent := w.submit()
		const bucket = `{"child": {"parent": "p", "segment": {"from": 1}, "number": 1}}`
		one, two := w.submit().options(bucket).childOf(parent), w.submit().options(bucket).childOf(parent)
		return min(one.id, two.id)
	}},
}
