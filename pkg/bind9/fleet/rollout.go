// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// replacements admits one server of a cluster at a time to replace its pod. A pod with a volume claim, or with a
// required spread over nodes, has to stop before the new pod starts. Without the limit, a change of the cluster would
// stop all its servers at once.
type replacements struct {
	mu sync.Mutex
	// server maps a Bind9Cluster to the admitted server.
	server map[cache.ObjectName]string
}

type reservation struct {
	server string
	// upToDate is true if the pod needs no replacement.
	upToDate, ready, finished bool
	others                    []otherServer
}

type otherServer struct {
	name    string
	unready bool
}

// nextHolder returns the server that may replace its pod. waitReason says why f.server must wait, or is "".
func nextHolder(holder string, f *reservation) (next, waitReason string) {
	if f.upToDate {
		// The turn is over: the next server may go.
		if holder == f.server && f.ready && f.finished {
			return "", ""
		}
		return holder, ""
	}

	isHolder := func(other otherServer) bool { return other.name == holder }
	// A deleted holder is not among the others, and loses the turn.
	if slices.ContainsFunc(f.others, isHolder) {
		return holder, fmt.Sprintf("the pod of %s is replaced before: one server of a cluster at a time", holder)
	}

	// A server that is not ready itself need not wait until the others are.
	unready := slices.IndexFunc(f.others, func(other otherServer) bool { return other.unready })
	if f.ready && unready >= 0 {
		return holder, fmt.Sprintf("%s is not ready: a pod is replaced while all other servers of the cluster are",
			f.others[unready].name)
	}
	return f.server, ""
}

func (r *replacements) reserve(cluster cache.ObjectName, f *reservation) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, waits := nextHolder(r.server[cluster], f)
	if r.server[cluster] = next; next == "" {
		delete(r.server, cluster)
	}
	return waits
}
