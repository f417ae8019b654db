// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/cmd/program"
)

var (
	// ErrBehind means that a zone is not current.
	ErrBehind = program.No("not all zones are current; kubectl kubizone why ZONE names the cause")
	// ErrUnread means that no zone could be read.
	ErrUnread = errors.New("no zone could be read; kubectl kubizone doctor finds the cause")
)

// Overview is the state of an installation, or of some namespaces.
type Overview struct {
	Time metav1.Time `json:"time"`
	// Namespaces are those read; empty means all.
	Namespaces []string `json:"namespaces,omitempty"`
	Zones      int64    `json:"zones"`
	// NotCurrent are the zones not Ready in their present generation, oldest first.
	NotCurrent []Item `json:"notCurrent"`
	// OldestUnconfirmed is the zone or Record that waits longest for its classes.
	OldestUnconfirmed *Item  `json:"oldestUnconfirmed,omitempty"`
	Held              []Item `json:"held,omitempty"`
	Paused            []Item `json:"paused,omitempty"`
	Withdrawn         []Item `json:"withdrawn,omitempty"`
	// Refused are updates, challenges and names of external-dns in the last hour.
	Refused []Item `json:"refused,omitempty"`
	// NoClass are current zones that no class delivers (S6.13).
	NoClass []Item        `json:"noClass,omitempty"`
	Records []RecordCount `json:"records,omitempty"`
	// Installation is nil without the right to get it.
	Installation *v1alpha1.InstallationStatus `json:"installation,omitempty"`
	// Partial are lists of which only the first Reader.MaxObjects objects were read.
	Partial     []string `json:"partial,omitempty"`
	Unread      []Unread `json:"unread,omitempty"`
	ClassFaults []Item   `json:"-"`
	// ZonesRead is true if a namespace's zones were read.
	ZonesRead bool `json:"-"`
}

// Item is an object for a person to look at.
type Item struct {
	Kind      string       `json:"kind"`
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	FQDN      string       `json:"fqdn,omitempty"`
	View      string       `json:"view,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	Message   string       `json:"message,omitempty"`
	Since     *metav1.Time `json:"since,omitempty"`
	Until     *metav1.Time `json:"until,omitempty"`
	// LastChange has a zone's user, time and serial.
	LastChange string `json:"lastChange,omitempty"`
}

// RecordCount counts Records not Ready for a reason.
type RecordCount struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
	Oldest Item   `json:"oldest"`
}

// Unread is a list or an object that could not be read.
type Unread struct {
	Verb      string `json:"verb"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Forbidden bool   `json:"forbidden"`
	Reason    string `json:"reason"`
	Err       error  `json:"-"`
}

// Object returns NAMESPACE/NAME, or NAME.
func (i *Item) Object() string {
	if i.Namespace == "" {
		return i.Name
	}
	return i.Namespace + "/" + i.Name
}
