// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/kit/samples"
	"kubi.zone/kubizone/pkg/kit/topten"
	"kubi.zone/kubizone/pkg/zone/law"
)

type tally struct {
	mu     sync.Mutex
	states map[law.Ref]waiting
	// unconfirmed counts open Records in zones by namespace, unready by reason, unadopted by namespace and reason.
	unconfirmed, unready map[string]int
	unadopted            map[string]map[string]int
	withdrawn            int
}

// readyReason is "" for a confirmed Record, or in no zone. adoptedReason is "" in a zone.
type waiting struct {
	readyReason, adoptedReason string
	withdrawn                  bool
}

var (
	unreadyMetric = samples.New("kubizone_records_waiting", "Records in zones that are not Ready, by reason; none at all servers "+
		"but one.", "reason")
	unadoptedMetric = samples.New("kubizone_records_not_adopted", "Records that no zone has adopted, by reason; none at all "+
		"servers but one.", "reason")
	unadoptedInMetric = samples.New("kubizone_namespace_records_not_adopted", "Records of a namespace that no zone has adopted, "+
		"by reason, of the ten namespaces that have most.", "namespace", "reason")
	unconfirmedInMetric = samples.New("kubizone_namespace_records_unconfirmed", "Records of a namespace in zones that are not Ready, "+
		"of the ten namespaces that have most.", "namespace")
	withdrawnMetric = samples.New("kubizone_records_withdrawn", "Records that no rule allows any more, and that are served until "+
		"status.endsAt; 0 at all servers but one.")
)

func newTally() *tally {
	t := &tally{}
	t.reset()
	return t
}

func (t *tally) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.states, t.unconfirmed, t.unready, t.unadopted = map[law.Ref]waiting{}, map[string]int{}, map[string]int{}, map[string]map[string]int{}
	t.withdrawn = 0
}

// waitingOf returns the state of a Record for the tally. open is isOpen(record).
func waitingOf(record *v1alpha1.Record, open bool) (w waiting) {
	conditions := record.Status.Conditions
	if record.Status.ZoneRef != nil && open {
		// A Record without a Ready, or with the Ready of an earlier generation, counts as Pending.
		w.readyReason = cmp.Or(reasonUnlessTrue(conditions, v1alpha1.ConditionReady), v1alpha1.ReasonPending)
	}
	w.adoptedReason = reasonUnlessTrue(conditions, v1alpha1.ConditionAdopted)
	w.withdrawn = record.Status.EndsAt != nil
	return w
}

// reasonUnlessTrue returns the reason of a condition that is False or Unknown, or "".
func reasonUnlessTrue(conditions []metav1.Condition, kind string) string {
	if of := meta.FindStatusCondition(conditions, kind); of != nil && of.Status != metav1.ConditionTrue {
		return of.Reason
	}
	return ""
}

// setRecord replaces a Record's state in the counts. The zero state removes the Record, so that only waiting Records
// take memory.
func (t *tally) setRecord(ref law.Ref, now waiting) {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.states[ref]
	if was == now {
		return
	}
	if t.addRecord(ref.Namespace, was, -1); now == (waiting{}) {
		delete(t.states, ref)
		return
	}
	t.states[ref] = now
	t.addRecord(ref.Namespace, now, 1)
}

// addRecord adds n, 1 or -1, to the counts of a state. The caller holds mu.
func (t *tally) addRecord(namespace string, w waiting, n int) {
	if w.readyReason != "" {
		addTo(t.unconfirmed, namespace, n)
		addTo(t.unready, w.readyReason, n)
	}
	if w.withdrawn {
		t.withdrawn += n
	}
	if w.adoptedReason == "" {
		return
	}
	if t.unadopted[namespace] == nil {
		t.unadopted[namespace] = map[string]int{}
	}
	if addTo(t.unadopted[namespace], w.adoptedReason, n); len(t.unadopted[namespace]) == 0 {
		delete(t.unadopted, namespace)
	}
}

func addTo(counts map[string]int, key string, n int) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

// sendSamples sends the counts at a scrape of /metrics. Only the ten namespaces with most Records have series, so
// tenants cannot make any number of series.
func (t *tally) sendSamples(sample samples.Send) {
	t.mu.Lock()
	defer t.mu.Unlock()
	send := func(of samples.Metric, n int, labels ...string) { sample(of, float64(n), labels...) }
	send(withdrawnMetric, t.withdrawn)
	// Sum the namespaces' counts, for a series of each reason and for the order of namespaces.
	reasons, totals := map[string]int{}, map[string]int{}
	for namespace, counts := range t.unadopted {
		for reason, n := range counts {
			reasons[reason] += n
			totals[namespace] += n
		}
	}
	for reason, n := range t.unready {
		send(unreadyMetric, n, reason)
	}
	for reason, n := range reasons {
		send(unadoptedMetric, n, reason)
	}
	for _, namespace := range topten.Keys(totals, topten.Descending) {
		for reason, n := range t.unadopted[namespace] {
			send(unadoptedInMetric, n, namespace, reason)
		}
	}
	for _, namespace := range topten.Keys(t.unconfirmed, topten.Descending) {
		send(unconfirmedInMetric, t.unconfirmed[namespace], namespace)
	}
}
