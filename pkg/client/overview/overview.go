// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
)

var (
	ErrBehind = errors.New("not all zones are current; kubectl kubizone why ZONE names the cause")
	// ErrWaiting is for namespaces whose Records wait in zones of others.
	ErrWaiting = errors.New("not all records are current; kubectl kubizone why record/NAME names the cause")
	ErrUnread  = errors.New("no zone could be read; kubectl kubizone doctor finds the cause")
)

const (
	// EndsSoon means a missed renewal of a certificate, because leaves are renewed when a third is left.
	EndsSoon = 14 * 24 * time.Hour
	// BackupLate is the age of the last backup as in the alert KubizoneBackupLate.
	BackupLate = 48 * time.Hour
)

// Overview is the result of kubectl kubizone status. The lists have objects for a person to look at.
type Overview struct {
	Time metav1.Time `json:"time"`
	// Namespaces are the namespaces read; empty means all.
	Namespaces []string `json:"namespaces,omitempty"`
	Zones      int64    `json:"zones"`
	// NotCurrent are zones that are not Ready, are being deleted, or have a change unseen by any controller.
	NotCurrent []Item `json:"notCurrent"`
	// OldestUnconfirmed is the zone or Record waiting longest for a confirmation by the servers.
	OldestUnconfirmed *Item `json:"oldestUnconfirmed,omitempty"`
	// Held are zones undelivered because of a mass deletion.
	Held []Item `json:"held,omitempty"`
	// Paused are zones and DNSClasses whose deliveries a person has paused.
	Paused []Item `json:"paused,omitempty"`
	// Withdrawn are zones and Records no longer allowed by a rule, with the time Until their end.
	Withdrawn []Item `json:"withdrawn,omitempty"`
	// Terminating are namespaces whose deletion a Zone stops, because of Records or zones of other namespaces (S8.1).
	Terminating []Item `json:"terminating,omitempty"`
	// Refused are dynamic updates, ACME challenges and names of external-dns refused in the last hour.
	Refused []Item        `json:"refused,omitempty"`
	NoClass []Item        `json:"noClass,omitempty"`
	Records []RecordCount `json:"records,omitempty"`
	// Installation is nil without the right to get it.
	Installation *v1alpha1.InstallationStatus `json:"installation,omitempty"`
	// Partial names the lists that have more than Reader.MaxObjects objects. Only the first objects were read.
	Partial []string `json:"partial,omitempty"`
	Unread  []Unread `json:"unread,omitempty"`
	// ZonesRead is true if the zones of at least one namespace were read.
	ZonesRead bool `json:"-"`
}

type Item struct {
	Kind       string       `json:"kind"`
	Namespace  string       `json:"namespace,omitempty"`
	Name       string       `json:"name"`
	FQDN       string       `json:"fqdn,omitempty"`
	View       string       `json:"view,omitempty"`
	Reason     string       `json:"reason,omitempty"`
	Message    string       `json:"message,omitempty"`
	Since      *metav1.Time `json:"since,omitempty"`
	Until      *metav1.Time `json:"until,omitempty"`
	LastChange string       `json:"lastChange,omitempty"`
	// Servers are those that delay a zone, for the first zones of each reason.
	Servers []class.ServerFault `json:"servers,omitempty"`
}

type RecordCount struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
	Oldest Item   `json:"oldest"`
}

type Unread struct {
	Verb      string `json:"verb"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Forbidden bool   `json:"forbidden"`
	Reason    string `json:"reason"`
	Err       error  `json:"-"`
}

func (i *Item) Object() string {
	if i.Namespace == "" {
		return i.Name
	}
	return i.Namespace + "/" + i.Name
}

func (i *Item) String() string { return i.Kind + " " + i.Object() }

// AgeOf returns how long ago a time was when the Overview was read, such as "5m", or "?" for an unknown time.
func (o *Overview) AgeOf(at *metav1.Time) string {
	if at.IsZero() {
		return "?"
	}
	return duration.HumanDuration(o.Time.Sub(at.Time))
}
