// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"time"

	"kubi.zone/kubizone/pkg/apis/kubizone/class"
)

// allPerSecond bounds the queries per second while nothing changes, of all DNSClasses, and again of all Bind9Clusters.
const allPerSecond = 250

type questions struct {
	byClass               map[string]int
	ofClasses, ofClusters int
	byNamespace           map[string]int
}

func newQuestions() questions {
	return questions{byClass: map[string]int{}, byNamespace: map[string]int{}}
}

// setNumber sets the number of queries that a comparison of all zones of a class takes; 0 forgets the class.
func (q *questions) setNumber(name string, n int) {
	more := n - q.byClass[name]
	if q.byClass[name] = n; n == 0 {
		delete(q.byClass, name)
	}
	namespace, _, ok := class.SplitCluster(name)
	if !ok {
		q.ofClasses += more
		return
	}
	q.ofClusters += more
	if q.byNamespace[namespace] += more; q.byNamespace[namespace] == 0 {
		delete(q.byNamespace, namespace)
	}
}

// DNSClasses share allPerSecond by number of queries. Bind9Clusters share half of theirs equally among namespaces, and
// half by number.
func (q *questions) findInterval(name string) time.Duration {
	counted := float64(q.ofClasses)
	if namespace, _, ok := class.SplitCluster(name); ok {
		equally, byNumber := float64(len(q.byNamespace)*q.byNamespace[namespace]), float64(q.ofClusters)
		counted = 2 / (1/equally + 1/byNumber) // 0 where both are
	}
	return time.Duration(counted / allPerSecond * float64(time.Second))
}
