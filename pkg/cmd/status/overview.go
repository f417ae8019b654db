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
	// ErrBehind is returned if a zone is not current.
	ErrBehind = program.No("not all zones are current; kubectl kubizone why ZONE names the cause")
	// ErrUnread is returned if no zone could be read.
	ErrUnread = errors.New("no zone could be read; kubectl kubizone doctor finds the cause")
)

// Overview is the state of an installation, or of some namespaces.
type Overview struct {
	// Time is the time of the reading.
	Time metav1.Time `json:"time"`
	// Namespaces are the namespaces read; empty for all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Zones is the number of zones read.
	Zones int64 `json:"zones"`
	// NotCurrent are the zones not Ready in their present generation, the oldest first.
	NotCurrent []Item `json:"notCurrent"`
	// OldestUnconfirmed is the zone or Record whose content waits longest for the confirmation of its classes.
	OldestUnconfirmed *Item  `json:"oldestUnconfirmed,omitempty"`
	Held              []Item `json:"held,omitempty"`
	Paused            []Item `json:"paused,omitempty"`
	Withdrawn         []Item `json:"withdrawn,omitempty"`
	// Refused are updates, challenges and names of external-dns refused in the last hour.
	Refused []Item `json:"refused,omitempty"`
	// Records counts the Records not Ready, by reason.
	Records []RecordCount `json:"records,omitempty"`
	// Installation is absent without the right to get it.
	Installation *v1alpha1.InstallationStatus `json:"installation,omitempty"`
	// Partial are lists of which only the first objects by name were read, those of Reader.Most.
	Partial []string `json:"partial,omitempty"`
	// Unread are lists and objects that could not be read.
	Unread []Unread `json:"unread,omitempty"`
	// ZonesRead is true if the zones of a namespace were read.
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
	// LastChange of a zone has user, time and serial.
	LastChange string `json:"lastChange,omitempty"`
}

// RecordCount is the number of Records not Ready for a reason.
type RecordCount struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
	// Oldest is the Record that waits longest.
	Oldest Item `json:"oldest"`
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
