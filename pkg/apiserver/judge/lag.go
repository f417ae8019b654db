// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/samples"
)

// LagMetrics replaces the controller's metrics of unconfirmed changes while no controller works.
type LagMetrics struct {
	// leader is nil unless this server is elected.
	leader atomic.Pointer[leader]
}

// NewLagMetrics registers the metrics of late deliveries, so that alerts keep firing after the controller has ended.
// The names are those of the controller's metrics, so a controller in this process needs another registry.
func NewLagMetrics(registry metrics.KubeRegistry) *LagMetrics {
	oldest := samples.New("kubizone_delivery_oldest_change_seconds", objects.HelpOldestChange, "class")
	behind := samples.New("kubizone_delivery_secondaries_behind", objects.HelpSecondariesBehind, "class")
	m := &LagMetrics{}
	samples.Register(registry, func(send samples.Send) {
		l := m.leader.Load()
		if l == nil || l.processes().Controller.Ended.IsZero() {
			return // another server is elected, or the controller works
		}
		for class, lag := range findLags(l.index) {
			age := 0.0
			if !lag.notReadySince.IsZero() {
				age = time.Since(lag.notReadySince).Seconds()
			}
			send(oldest, age, class)
			send(behind, float64(len(lag.lagging)), class)
		}
	}, oldest, behind)
	return m
}

// classLag is the delay of a class over all its zones.
type classLag struct {
	// notReadySince is when the oldest unconfirmed zone lost Ready, or zero.
	notReadySince time.Time
	// lagging names servers that failed, or lack a zone's settled serial.
	lagging []string
}

// findLags returns the delay of each class in force for a zone.
func findLags(x *objects.Index) map[string]classLag {
	lags := map[string]classLag{}
	for _, zone := range x.AllZones() {
		settled := serial.Serial(zone.Status.SettledSerial)
		if zone.DeletionTimestamp != nil || settled == 0 {
			continue
		}

		since := time.Now()
		if of := objects.ReadyOf(zone.Status.Conditions); of != nil && of.Status != metav1.ConditionTrue {
			since = of.LastTransitionTime.Time
		}

		force, _ := x.InForce(zone)
		deliveries := x.DeliveriesByUID(string(zone.UID))
		for _, class := range force.Classes {
			lag, confirmed := lags[class], serial.Serial(0)
			for _, one := range deliveries {
				if objects.KeyOf(one).Class == class {
					confirmed = serial.Serial(one.Status.Serial)
					lag.addLagging(one.Status.Servers, settled)
				}
			}
			if confirmed != settled && (lag.notReadySince.IsZero() || since.Before(lag.notReadySince)) {
				lag.notReadySince = since
			}
			lags[class] = lag
		}
	}
	return lags
}

func (l *classLag) addLagging(rows []v1alpha1.DeliveryServer, settled serial.Serial) {
	for _, row := range rows {
		if (row.State != v1alpha1.ServerCurrent || settled.Ahead(serial.Serial(row.Serial))) && !slices.Contains(l.lagging, row.Name) {
			l.lagging = append(l.lagging, row.Name)
		}
	}
}
