// Package tasknotify delivers notifications about tasks, by webhook and by mail. A notification is a task of the kind [Kind]: it is
// stored in the transaction of its event, see taskkit.WithNotifications, and a worker delivers it with the retries, the dead letters and the
// Explain of any task. [Register] adds the kind to a worker:
//
//	err := tasknotify.Register(registry, tasknotify.Config{DB: db, Targets: map[string]tasknotify.Target{
//		"ops": &tasknotify.Webhook{URL: "https://ops.example/hooks", Secrets: []string{secret}},
//	}})
//
// A notification is delivered at least once. All tries of one have the same [Message.ID], by which a receiver recognizes it.
package tasknotify
