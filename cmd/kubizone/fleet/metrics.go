// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-base/metrics"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	listers "kubi.zone/kubizone/api/client/listers/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/kit/samples"
	"kubi.zone/kubizone/pkg/kit/topten"
)

var (
	serversByState = samples.New("kubizone_fleet_servers", "BIND servers by role and status of their condition Ready.", "role", "ready")
	unready        = samples.New("kubizone_fleet_unready_seconds", "Time for which a BIND server of a namespace has not been Ready, "+
		"of the ten namespaces with the longest.", "namespace")
)

// NewMetrics registers metrics of the BIND servers in the lister's cache, computed at each scrape.
func NewMetrics(registry metrics.KubeRegistry, servers listers.Bind9InstanceLister) {
	samples.Register(registry, func(send samples.Send) {
		all, _ := servers.List(labels.Everything()) // a lister cannot fail
		type state struct{ role, ready string }
		count, longest := map[state]int{}, map[string]time.Duration{}
		for _, server := range all {
			status, since := readyOf(server)
			count[state{strings.ToLower(string(server.Spec.Role)), strings.ToLower(string(status))}]++
			if status != metav1.ConditionTrue {
				longest[server.Namespace] = max(longest[server.Namespace], time.Since(since))
			}
		}
		for of, n := range count {
			send(serversByState, float64(n), of.role, of.ready)
		}
		for _, namespace := range topten.Keys(longest, topten.Descending) {
			send(unready, longest[namespace].Seconds(), namespace)
		}
	}, serversByState, unready)
}

func readyOf(server *bind9.Bind9Instance) (status metav1.ConditionStatus, since time.Time) {
	if ready := meta.FindStatusCondition(server.Status.Conditions, bind9.ConditionReady); ready != nil {
		return ready.Status, ready.LastTransitionTime.Time
	}
	return metav1.ConditionUnknown, server.CreationTimestamp.Time
}
