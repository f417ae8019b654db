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
	"kubi.zone/kubizone/pkg/kit/samples"
)

var (
	oldestMetric = samples.New("kubizone_delivery_oldest_change_seconds", "Age of the change that a class has not confirmed for "+
		"longest; none at all servers but one.", "class")
	behindMetric = samples.New("kubizone_delivery_secondaries_behind", "Servers of a class that did not have a zone as it is when they "+
		"were asked last; none at all servers but one.", "class")
)

// lag is the delay of a zone at a class, or of all zones at a class.
type lag struct {
	confirmed serial.Serial // the last known
	// since is the time of the oldest change that the class has not confirmed, zero for none.
	since   time.Time
	servers []string // were behind when asked last
}

// settlement is the time at which the judge first saw a settled serial.
type settlement struct {
	serial serial.Serial
	at     time.Time
}

const maxSettlements = 64 // of a zone

// findLags returns the lag of each class in force, and the settlements since the oldest change lacking at a class: both
// nil for a zone without a settled serial or under deletion. before is the zone's last Progress, nil at the first
// judgement.
func (f *Facts) findLags(before *Progress) (lags map[string]lag, settlements []settlement) {
	settled := serial.Serial(f.Zone.Status.SettledSerial)
	if settled == 0 || f.Zone.DeletionTimestamp != nil {
		return nil, nil
	}

	// 1. Note a new settled serial. The first judgement of this server knows only since when Ready is lost, and when
	// each class confirmed a serial.
	now, was := time.Now(), map[string]lag{}
	isFirst := before == nil || len(before.settlements) == 0
	if isFirst {
		if of := objects.ReadyOf(f.Zone.Status.Conditions); of != nil && of.Status != metav1.ConditionTrue {
			now = of.LastTransitionTime.Time
		}
	} else {
		settlements, was = before.settlements, before.lags
	}
	if n := len(settlements); n == 0 || settlements[n-1].serial != settled {
		settlements = append(slices.Clip(settlements), settlement{settled, now})
	}

	// 2. Find the oldest change that each class lacks.
	lags = map[string]lag{}
	needed := len(settlements) - 1
	for _, of := range f.Classes {
		last := was[of.Class]
		x := lag{confirmed: cmp.Or(of.State.Serial, last.confirmed), since: last.since, servers: of.BehindServers}
		lacks := slices.IndexFunc(settlements, func(s settlement) bool { return s.serial.Ahead(x.confirmed) })
		switch {
		// The class is up to date: a zero since.
		case of.State.Serial == settled:
			x.since = time.Time{}
		case last.since.IsZero(): // the class has other servers, or the zone has changed
			x.since = now
			// Ready may be lost since another class failed. The controller's clock may be ahead.
			if isFirst && of.State.SyncTime.After(now) && of.State.SyncTime.Before(time.Now()) {
				x.since = of.State.SyncTime
			}
		case lacks >= 0 && x.confirmed != last.confirmed: // an earlier change is confirmed
			x.since = settlements[lacks].at
		}
		if lacks >= 0 && x.confirmed != 0 {
			needed = min(needed, lacks)
		}
		lags[of.Class] = x
	}

	// 3. Forget settlements that all classes have confirmed. A class that fails for days gets its later ages coarser.
	if settlements = settlements[needed:]; len(settlements) > maxSettlements {
		half := settlements[:0:0]
		for i := 0; i < len(settlements)-1; i += 2 {
			half = append(half, settlements[i])
		}
		settlements = append(half, settlements[len(settlements)-1])
	}
	return lags, settlements
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
		// An up-to-date class sends 0.
		age := time.Duration(0)
		if !of.since.IsZero() {
			age = max(0, time.Since(of.since)) // the controller's clock may be ahead
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
