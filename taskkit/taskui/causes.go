package taskui

import "taskkit.dev/taskkit/taskcause"

// causes are the causes in words for people who must not see errors and workers.
var causes = map[taskcause.Cause]string{
	taskcause.Done: "It is done.", taskcause.Stopped: "It was stopped before it was done.", taskcause.Failed: "It has failed.",
	taskcause.CrashLoop: "The service could not run it.", taskcause.NotRun: "The service could not run it.",
	taskcause.Running: "It is running.", taskcause.Requested: "A request takes effect after the current batch.",
	taskcause.TriedAgain: "It is tried again.", taskcause.WorkersLost: "It is running, after interruptions.",
	taskcause.WorkerSilent: "It is taken over soon.", taskcause.WorkerEnded: "It is taken over soon.",
	taskcause.Paused: "It is paused.", taskcause.Approval: "It waits for approval.", taskcause.StopPolicy: "It is paused: too many of its items have failed.",
	taskcause.Rule: "It is paused by a rule.", taskcause.ChildFailed: "It is paused: parts of it have failed.",
	taskcause.Start: "It waits for its time.", taskcause.Later: "It continues later.", taskcause.Retry: "It waits for its next try.",
	taskcause.Window: "It waits for its window.", taskcause.Rate: "Its rate is limited.", taskcause.Throttled: "It is slowed down.",
	taskcause.Limit: "It waits for others of its kind.", taskcause.Children: "It waits for its parts.", taskcause.QueuePaused: "Its queue is paused.",
	taskcause.NoWorker: "It waits for the service.", taskcause.Draining: "It waits for the service.", taskcause.SafeMode: "It waits for the service.",
	taskcause.UnknownKind: "It waits for the service.", taskcause.UnknownRevision: "It waits for the service.", taskcause.QueueNotServed: "It waits for the service.",
	taskcause.SlotsBusy: "It waits for its turn.", taskcause.Due: "It starts soon.",
}
