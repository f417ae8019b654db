// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// A Deployment has its new pod ready before the former one goes. A pod with a claim, or one that may be on no node
// beside another of its servers, goes first. Each server of a cluster is a workload of its own, so one change of the
// cluster would take all of them at once: here one server of a cluster has its turn at a time, and it ends when its pod
// is ready.

// replacements say which server of each cluster is being replaced. A process that is started anew has none: it goes
// by which servers are ready.
type replacements struct {
	mu     sync.Mutex
	server map[cache.ObjectName]string
}

// turnFacts are what the turn of a server rests on whose pod goes before the new one comes.
type turnFacts struct {
	server string
	// same: its pod is the one that it shall have. ready: that one is ready; finished: its last change has come about.
	same, ready, finished bool
	// others are the other servers of the cluster, by name.
	others []otherServer
}

type otherServer struct {
	name string
	// late: it shall run, and is not ready.
	late bool
}

// nextTurn decides which server of a cluster is being replaced from now on, and what this one waits for; "": it may be
// applied. holder is the one that was being replaced before, "" for none.
func nextTurn(holder string, f *turnFacts) (next, waits string) {
	late := slices.IndexFunc(f.others, func(one otherServer) bool { return one.late })
	runs := slices.ContainsFunc(f.others, func(one otherServer) bool { return one.name == holder })
	switch {
	case f.same && holder == f.server && f.ready && f.finished:
		return "", ""
	case f.same:
		return holder, ""
	case runs:
		return holder, fmt.Sprintf("the pod of %s is replaced before: one server of a cluster at a time", holder)
	case f.ready && late >= 0:
		return holder, fmt.Sprintf("%s is not ready: a pod is replaced while all other servers of the cluster are",
			f.others[late].name)
	}
	return f.server, ""
}

// takeTurn gives the server of a cluster its turn, or returns what it waits for.
func (r *replacements) takeTurn(cluster cache.ObjectName, f *turnFacts) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, waits := nextTurn(r.server[cluster], f)
	if r.server[cluster] = next; next == "" {
		delete(r.server, cluster)
	}
	return waits
}
