// Package taskbulk makes one request of many tasks: retry, stop, pause, resume or delete. A bulk operation is itself a task, of the kind [Kind]. The
// tasks that it is for are found by a filter and frozen when it is submitted; a worker makes the request of each, batch by batch. So it has
// progress, items by outcome and an audit, it can be stopped in the middle and continued, and what failed can be retried, as of any
// task. [Register] adds the kind to a worker, and [Submit] submits a bulk operation:
//
//	id, n, err := taskbulk.Submit(ctx, tx, taskbulk.Request{
//		Verb: taskbulk.Retry, Filter: taskkit.Filter{Kinds: []string{"send_email"}, Code: "smtp"}, Actor: person, Reason: "the mail server is back",
//	})
//
// Each request is made in the transaction of the batch that records its outcome, so none is made twice, whenever a worker is lost.
package taskbulk
