// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"time"

	"kubi.zone/kubizone/pkg/apis/kubizone/class"
)

// allPerSecond is the most questions a second by which servers are compared while nothing changes: of all DNSClasses
// together, and as many of all Bind9Clusters that are classes, so that tenants take none from the classes of the
// platform.
const allPerSecond = 250

// questions counts the servers that are asked when each zone of each class is compared once. The sums are kept, as each
// class asks for one every few seconds.
type questions struct {
	byClass               map[string]int
	ofClasses, ofClusters int
	// byNamespace are those of Bind9Clusters. A namespace without one is not in it.
	byNamespace map[string]int
}

func newQuestions() questions {
	return questions{byClass: map[string]int{}, byNamespace: map[string]int{}}
}

// setNumber sets the questions of a class; 0 forgets them.
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

// findInterval returns the shortest interval at which a class may ask its questions. DNSClasses share allPerSecond by
// their numbers of questions. Of those of Bind9Clusters half is shared equally by their namespaces and half by numbers:
// no namespace has less than half of an equal share, however many zones and servers another one has.
func (q *questions) findInterval(name string) time.Duration {
	counted := float64(q.ofClasses)
	if namespace, _, ok := class.SplitCluster(name); ok {
		equally, byNumber := float64(len(q.byNamespace)*q.byNamespace[namespace]), float64(q.ofClusters)
		counted = 2 / (1/equally + 1/byNumber) // 0 where both are
	}
	return time.Duration(counted / allPerSecond * float64(time.Second))
}
