// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/registry/kind"
)

// dataWidth keeps most rows within 120 characters.
const dataWidth = 32

var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "metadata.name of the Record."},
	{Name: "FQDN", Type: "string", Description: "The absolute owner name."},
	{Name: "Type", Type: "string", Description: "The RR type."},
	{Name: "Data", Type: "string", Description: "The data in presentation format, cut where it is long."},
	{Name: "Ready", Type: "string", Description: "Whether every class has confirmed the Record's serial."},
	{Name: "Age", Type: "string", Description: "Time since the creation of the Record."},
	{Name: "Domain", Type: "string", Priority: 1, Description: "spec.domainName: absolute with a trailing dot, else relative to the zone."},
	{Name: "Zone", Type: "string", Priority: 1, Description: "Namespace and name of the Zone that adopted the Record."},
	{Name: "TTL", Type: "string", Priority: 1, Description: "The time to live in seconds; inherited from the zone where there is none."},
	{Name: "Expires", Type: "string", Priority: 1, Description: "spec.expiresAt, the time at which the Record leaves its zone."},
	{Name: "Serial", Type: "integer", Format: "int64", Priority: 1, Description: "The serial of the zone that took in the Record's data."},
	{Name: "Message", Type: "string", Priority: 1, Description: "Why the Record is not adopted or not ready."},
}

// recordRow returns the cells of columns, in their order.
func recordRow(record *v1alpha1.Record) []any {
	ttl := "inherit"
	if record.Spec.TTL != nil {
		ttl = strconv.Itoa(int(*record.Spec.TTL))
	}
	expires := kind.None
	if at := record.Spec.ExpiresAt; at != nil {
		expires = at.UTC().Format(time.RFC3339)
	}
	zone := kind.None
	if ref := record.Status.ZoneRef; ref != nil {
		zone = zoneKey(ref)
	}
	return []any{
		record.Name, kind.OrNone(record.Status.FQDN), rrtype(record), kind.Shorten(data(record), dataWidth),
		kind.Ready(record.Status.Conditions), kind.Age(record.CreationTimestamp),
		record.Spec.DomainName, zone, ttl, expires, record.Status.Serial, kind.Message(record.Status.Conditions, v1alpha1.ConditionAdopted,
			v1alpha1.ConditionReady),
	}
}

func data(record *v1alpha1.Record) string {
	if record.Spec.RData != "" {
		return record.Spec.RData
	}
	return strings.Join(record.Spec.Values, ", ")
}
