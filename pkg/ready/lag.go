// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ready

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
)

const (
	HelpOldestChange      = "Age of the change that a class has not confirmed for longest."
	HelpSecondariesBehind = "Servers of a class that did not have a zone as it is when they were asked last."
)

type Lag struct {
	// NotReadySince is when the oldest unconfirmed zone lost Ready, or zero.
	NotReadySince time.Time
	// Lagging names servers that failed, or lack a zone's settled serial.
	Lagging []string
}

func (x *Index) FindLags() map[string]Lag {
	lags := map[string]Lag{}
	for _, zone := range x.AllZones() {
		settled := serial.Serial(zone.Status.SettledSerial)
		if zone.DeletionTimestamp != nil || settled == 0 {
			continue
		}

		since := time.Now()
		if of := ReadyOf(zone.Status.Conditions); of != nil && of.Status != metav1.ConditionTrue {
			since = of.LastTransitionTime.Time
		}

		force, _ := x.InForce(zone)
		deliveries := x.DeliveriesByUID(string(zone.UID))
		for _, class := range force.Classes {
			lag, confirmed := lags[class], serial.Serial(0)
			for _, one := range deliveries {
				if KeyOf(one).Class == class {
					confirmed = serial.Serial(one.Status.Serial)
					lag.addLagging(one.Status.Servers, settled)
				}
			}
			if confirmed != settled && (lag.NotReadySince.IsZero() || since.Before(lag.NotReadySince)) {
				lag.NotReadySince = since
			}
			lags[class] = lag
		}
	}
	return lags
}

func (l *Lag) addLagging(rows []v1alpha1.DeliveryServer, settled serial.Serial) {
	for _, row := range rows {
		if (row.State != v1alpha1.ServerCurrent || settled.Ahead(serial.Serial(row.Serial))) && !slices.Contains(l.Lagging, row.Name) {
			l.Lagging = append(l.Lagging, row.Name)
		}
	}
}
