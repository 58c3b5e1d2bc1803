// Package taskui serves a dashboard over the tasks of a database: what runs and waits, why a task failed, and forms for
// every request. It stands on a [taskkit.Client] as a user's code does, works without JavaScript, and needs nothing from
// elsewhere: no script, style or font of another site.
//
// The pages are one table, see pages.go: a page is a function that reads its data, a template of the same name and a row. A page
// reads through [request], which hides tasks that the person must not see, and every change is an action of actions.go, which
// checks level, operation and task before it runs.
package taskui
