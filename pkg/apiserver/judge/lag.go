// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/samples"
)

var (
	oldestMetric = samples.New("kubizone_delivery_oldest_change_seconds", "Age of the change that a class has not confirmed for "+
		"longest; none at all servers but one.", "class")
	behindMetric = samples.New("kubizone_delivery_secondaries_behind", "Servers of a class that did not have a zone as it is when they "+
		"were asked last; none at all servers but one.", "class")
)

// lag is the delay of a zone at a class, or of all zones at a class.
type lag struct {
	confirmed serial.Serial
	// since is the time of the oldest change that the class has not confirmed, zero for none.
	since   time.Time
	servers []string // were behind when asked last
}

// findLags returns the lag of each class in force, or nil for a zone without a settled serial or under deletion. before
// is the zone's last Progress, nil at the first judgement.
func (f *Facts) findLags(before *Progress) map[string]lag {
	settled := serial.Serial(f.Zone.Status.SettledSerial)
	if settled == 0 || f.Zone.DeletionTimestamp != nil {
		return nil
	}
	lostReady := time.Now() // for the first judgement of this server
	if of := objects.ReadyOf(f.Zone.Status.Conditions); of != nil && of.Status != metav1.ConditionTrue {
		lostReady = of.LastTransitionTime.Time
	}
	lags := map[string]lag{}
	for _, of := range f.Classes {
		now := lag{confirmed: of.State.Serial, servers: of.BehindServers}
		switch {
		// The class is up to date: a zero since.
		case of.State.Serial == settled:
		// A new leader has not seen the change. Ready was lost with it, so that time is the closest.
		case before == nil:
			now.since = lostReady
		case before.lags[of.Class].confirmed == now.confirmed: // the transition of Ready would move with its reason
			now.since = cmp.Or(before.lags[of.Class].since, time.Now())
		default: // the class has confirmed an earlier change
			now.since = time.Now()
		}
		lags[of.Class] = now
	}
	return lags
}

func (l *lag) add(other lag) {
	if l.since.IsZero() || !other.since.IsZero() && other.since.Before(l.since) {
		l.since = other.since
	}
	for _, server := range other.servers {
		if !slices.Contains(l.servers, server) {
			l.servers = append(l.servers, server)
		}
	}
}

// sendLags sends a sample of each class in force for a zone, from the elected server.
func (m *Metrics) sendLags(send samples.Send) {
	l := m.leader.Load()
	if l == nil {
		return
	}
	for class, of := range l.sumLags() {
		// A class that is up to date sends 0.
		age := time.Duration(0)
		if !of.since.IsZero() {
			age = time.Since(of.since)
		}
		send(oldestMetric, age.Seconds(), class)
		send(behindMetric, float64(len(of.servers)), class)
	}
}

// sumLags returns the worst lag of each class over all zones: the oldest change, and each server that is behind in any
// zone once.
func (t *tracker) sumLags() map[string]lag {
	t.mu.Lock()
	defer t.mu.Unlock()
	sums := map[string]lag{}
	for _, z := range t.zones {
		if z.progress == nil {
			continue
		}
		for class, of := range z.progress.lags {
			sum := sums[class]
			sum.add(of)
			sums[class] = sum
		}
	}
	return sums
}
