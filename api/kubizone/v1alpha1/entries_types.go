// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Forms of ZoneEntries and ZoneChanges.
const (
	// FormEntries, the default: resolved entries with absolute names, served TTLs, SOA and glue.
	FormEntries = "entries"
	// FormDefinition: header and RRsets as defined, with names relative to the zone. It can feed another view.
	FormDefinition = "definition"
)

// Values of the query parameter format.
const (
	FormatText  = "text"
	FormatJSON  = "json"
	FormatTable = "table"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ZoneEntries is a zone's content at one serial: SOA first, then all entries in canonical order (RFC 4034 §6.1).
type ZoneEntries struct {
	metav1.TypeMeta `json:",inline"`
	// metadata of the Zone (name, namespace, uid), and `continue` if the limit cut the answer.
	// +optional
	Metadata ZoneViewMeta `json:"metadata,omitempty,omitzero" protobuf:"bytes,1,opt,name=metadata"`

	// fqdn is the zone's name.
	FQDN string `json:"fqdn" protobuf:"bytes,2,opt,name=fqdn"`
	// view of the zone, empty for default.
	// +optional
	View string `json:"view,omitempty" protobuf:"bytes,3,opt,name=view"`
	// serial of the whole answer.
	Serial int64 `json:"serial" protobuf:"varint,4,opt,name=serial"`
	// hash of the zone at serial.
	Hash string `json:"hash" protobuf:"bytes,5,opt,name=hash"`

	// entries of the zone, in form `entries`.
	// +optional
	// +listType=atomic
	Entries []Entry `json:"entries,omitempty" protobuf:"bytes,6,rep,name=entries"`

	// contentGeneration of the zone at serial, in form `definition`.
	// +optional
	ContentGeneration int64 `json:"contentGeneration,omitempty" protobuf:"varint,7,opt,name=contentGeneration"`
	// contentState is the set hash of rrsets, in form `definition`.
	// +optional
	ContentState string `json:"contentState,omitempty" protobuf:"bytes,8,opt,name=contentState"`
	// header of the zone, in form `definition`.
	// +optional
	Header *ZoneHeader `json:"header,omitempty" protobuf:"bytes,9,opt,name=header"`
	// rrsets are the RRsets as defined, in form `definition`.
	// +optional
	// +listType=atomic
	RRsets []RRset `json:"rrsets,omitempty" protobuf:"bytes,10,rep,name=rrsets"`
}

// ZoneViewMeta is the metadata of an answer.
type ZoneViewMeta struct {
	// name of the Zone.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// namespace of the Zone.
	// +optional
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// uid of the Zone.
	// +optional
	UID string `json:"uid,omitempty" protobuf:"bytes,3,opt,name=uid"`
	// continue is the token for the rest of an answer cut by the limit, at the same serial. 410 Gone if the serial is
	// no longer held.
	// +optional
	Continue string `json:"continue,omitempty" protobuf:"bytes,4,opt,name=continue"`
}

// Entry is a resource record of a zone.
type Entry struct {
	// fqdn is the absolute owner name in canonical form.
	FQDN string `json:"fqdn" protobuf:"bytes,1,opt,name=fqdn"`
	// type is the RR type.
	Type string `json:"type" protobuf:"bytes,2,opt,name=type"`
	// class is IN.
	Class string `json:"class" protobuf:"bytes,3,opt,name=class"`
	// ttl in seconds.
	TTL int64 `json:"ttl" protobuf:"varint,4,opt,name=ttl"`
	// rdata in presentation format, with absolute names.
	RData string `json:"rdata" protobuf:"bytes,5,opt,name=rdata"`
	// sources are the Records of the entry, with `sources=true`. Empty for entries made by the zone.
	// +optional
	// +listType=atomic
	Sources []RecordReference `json:"sources,omitempty" protobuf:"bytes,6,rep,name=sources"`
}

// RecordReference names a Record.
type RecordReference struct {
	// namespace of the Record.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace"`
	// name of the Record.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// ZoneHeader is the source of a zone's SOA, except the serial, and of its own name servers.
type ZoneHeader struct {
	// fqdn is the zone's name.
	FQDN string `json:"fqdn" protobuf:"bytes,1,opt,name=fqdn"`
	// ttl in seconds.
	TTL int64 `json:"ttl" protobuf:"varint,2,opt,name=ttl"`
	// refresh in seconds.
	Refresh int64 `json:"refresh" protobuf:"varint,3,opt,name=refresh"`
	// retry in seconds.
	Retry int64 `json:"retry" protobuf:"varint,4,opt,name=retry"`
	// expire in seconds.
	Expire int64 `json:"expire" protobuf:"varint,5,opt,name=expire"`
	// negativeResponseCache in seconds.
	NegativeResponseCache int64 `json:"negativeResponseCache" protobuf:"varint,6,opt,name=negativeResponseCache"`
	// primaryNameServer as in the spec of the Zone.
	// +optional
	PrimaryNameServer string `json:"primaryNameServer,omitempty" protobuf:"bytes,7,opt,name=primaryNameServer"`
	// contact as in the spec of the Zone.
	// +optional
	Contact string `json:"contact,omitempty" protobuf:"bytes,8,opt,name=contact"`
	// nameServers as in the spec of the Zone.
	// +optional
	// +listType=atomic
	NameServers []NameServer `json:"nameServers,omitempty" protobuf:"bytes,9,rep,name=nameServers"`
}

// RRset is an RRset as defined.
type RRset struct {
	// owner is relative to the zone, "@" for the zone's own name.
	Owner string `json:"owner" protobuf:"bytes,1,opt,name=owner"`
	// type is the RR type.
	Type string `json:"type" protobuf:"bytes,2,opt,name=type"`
	// ttl is "inherit", a number of seconds, or "min(inherit,N)".
	TTL string `json:"ttl" protobuf:"bytes,3,opt,name=ttl"`
	// data are the values as defined. Names without a trailing dot are relative to the zone.
	// +listType=atomic
	Data []string `json:"data" protobuf:"bytes,4,rep,name=data"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ZoneChanges is the difference of a zone between two serials.
type ZoneChanges struct {
	metav1.TypeMeta `json:",inline"`
	// metadata of the Zone (name, namespace, uid).
	// +optional
	Metadata ZoneViewMeta `json:"metadata,omitempty,omitzero" protobuf:"bytes,1,opt,name=metadata"`

	// fqdn is the zone's name.
	FQDN string `json:"fqdn" protobuf:"bytes,2,opt,name=fqdn"`
	// view of the zone, empty for default.
	// +optional
	View string `json:"view,omitempty" protobuf:"bytes,3,opt,name=view"`
	// since is the serial before the first change.
	Since int64 `json:"since" protobuf:"varint,4,opt,name=since"`
	// until is the serial after the last change.
	Until int64 `json:"until" protobuf:"varint,5,opt,name=until"`

	// changes are in order, one for each serial, in form `entries`.
	// +optional
	// +listType=atomic
	Changes []ZoneChange `json:"changes,omitempty" protobuf:"bytes,6,rep,name=changes"`
	// steps are the changes of the definition, in form `definition`.
	// +optional
	// +listType=atomic
	Steps []ZoneStep `json:"steps,omitempty" protobuf:"bytes,7,rep,name=steps"`
	// wholeSince is the time since which no step of history is missing or condensed.
	// +optional
	WholeSince *metav1.Time `json:"wholeSince,omitempty" protobuf:"bytes,8,opt,name=wholeSince"`
	// history are the changes with their users, newest first, in form `history`.
	// +optional
	// +listType=atomic
	History []HistoryStep `json:"history,omitempty" protobuf:"bytes,9,rep,name=history"`
	// ownWholeSince is the time since which no step of the Zone's own namespace is missing or condensed.
	// +optional
	OwnWholeSince *metav1.Time `json:"ownWholeSince,omitempty" protobuf:"bytes,10,opt,name=ownWholeSince"`
}

// ZoneChange is the difference between a serial and the next (RFC 1995 §4).
type ZoneChange struct {
	// from is the serial before the change.
	From int64 `json:"from" protobuf:"varint,1,opt,name=from"`
	// to is the serial after the change.
	To int64 `json:"to" protobuf:"varint,2,opt,name=to"`
	// time of the commit.
	// +optional
	Time *metav1.Time `json:"time,omitempty" protobuf:"bytes,3,opt,name=time"`
	// removed entries, including the SOA.
	// +optional
	// +listType=atomic
	Removed []Entry `json:"removed,omitempty" protobuf:"bytes,4,rep,name=removed"`
	// added entries, including the SOA.
	// +optional
	// +listType=atomic
	Added []Entry `json:"added,omitempty" protobuf:"bytes,5,rep,name=added"`
	// by is the user who made the change, with `sources=true`.
	// +optional
	By string `json:"by,omitempty" protobuf:"bytes,6,opt,name=by"`
	// record is the Record written, with `sources=true`.
	// +optional
	Record *RecordReference `json:"record,omitempty" protobuf:"bytes,7,opt,name=record"`
	// traceparent is the span of the write (W3C Trace Context), if sampled, with `sources=true`.
	// +optional
	Traceparent string `json:"traceparent,omitempty" protobuf:"bytes,15,opt,name=traceparent"`
}

// ZoneStep is a change of the definition between a serial and the next.
type ZoneStep struct {
	// contentGeneration after the step.
	ContentGeneration int64 `json:"contentGeneration" protobuf:"varint,1,opt,name=contentGeneration"`
	// serial after the step.
	Serial int64 `json:"serial" protobuf:"varint,2,opt,name=serial"`
	// contentState after the step.
	ContentState string `json:"contentState" protobuf:"bytes,3,opt,name=contentState"`
	// time of the commit.
	// +optional
	Time *metav1.Time `json:"time,omitempty" protobuf:"bytes,4,opt,name=time"`
	// headerBefore is the former header, if changed.
	// +optional
	HeaderBefore *ZoneHeader `json:"headerBefore,omitempty" protobuf:"bytes,5,opt,name=headerBefore"`
	// headerAfter is the new header, if changed.
	// +optional
	HeaderAfter *ZoneHeader `json:"headerAfter,omitempty" protobuf:"bytes,6,opt,name=headerAfter"`
	// removed values.
	// +optional
	// +listType=atomic
	Removed []Row `json:"removed,omitempty" protobuf:"bytes,7,rep,name=removed"`
	// added values.
	// +optional
	// +listType=atomic
	Added []Row `json:"added,omitempty" protobuf:"bytes,8,rep,name=added"`
	// ttls are the changes of RRsets' ttl.
	// +optional
	// +listType=atomic
	TTLs []TTLChange `json:"ttls,omitempty" protobuf:"bytes,9,rep,name=ttls"`
	// traceparent as in ZoneChange.
	// +optional
	Traceparent string `json:"traceparent,omitempty" protobuf:"bytes,15,opt,name=traceparent"`
}

// Row is a value as defined.
type Row struct {
	// owner as in RRset.
	Owner string `json:"owner" protobuf:"bytes,1,opt,name=owner"`
	// type is the RR type.
	Type string `json:"type" protobuf:"bytes,2,opt,name=type"`
	// data is the value as defined.
	Data string `json:"data" protobuf:"bytes,3,opt,name=data"`
}

// TTLChange is a change of an RRset's ttl.
type TTLChange struct {
	// owner as in RRset.
	Owner string `json:"owner" protobuf:"bytes,1,opt,name=owner"`
	// type is the RR type.
	Type string `json:"type" protobuf:"bytes,2,opt,name=type"`
	// before is the former ttl, as in RRset. Absent: no such RRset.
	// +optional
	Before string `json:"before,omitempty" protobuf:"bytes,3,opt,name=before"`
	// after is the new ttl. Absent: no such RRset.
	// +optional
	After string `json:"after,omitempty" protobuf:"bytes,4,opt,name=after"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ZoneEntriesOptions are query parameters of `GET zones/{name}/entries`.
type ZoneEntriesOptions struct {
	metav1.TypeMeta `json:",inline"`

	// limit is the maximum number of entries, 0 for all. If there are more, metadata.continue is set.
	// +optional
	Limit int64 `json:"limit,omitempty" protobuf:"varint,1,opt,name=limit"`
	// continue is the token from the previous answer.
	// +optional
	Continue string `json:"continue,omitempty" protobuf:"bytes,2,opt,name=continue"`
	// type selects entries by RR type.
	// +optional
	Type string `json:"type,omitempty" protobuf:"bytes,3,opt,name=type"`
	// name selects entries by owner name, absolute or relative to the zone.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,4,opt,name=name"`
	// sources adds the Records of each entry. Needs permission to list Records in all namespaces.
	// +optional
	Sources bool `json:"sources,omitempty" protobuf:"varint,5,opt,name=sources"`
	// form is `entries` (the default) or `definition`.
	// +optional
	Form string `json:"form,omitempty" protobuf:"bytes,6,opt,name=form"`
	// format is `json`, `table` or `text` (RFC 1035 master file), for clients that cannot set the Accept header.
	// +optional
	Format string `json:"format,omitempty" protobuf:"bytes,7,opt,name=format"`
	// search selects entries by a part of the owner name in any script, by RR type, or, given an address or a prefix,
	// A and AAAA entries within it; by the beginning of an address, such as 10.1.15., too. An answer examines at most
	// 250000 entries; if there are more it has metadata.continue, even without entries.
	// +optional
	Search string `json:"search,omitempty" protobuf:"bytes,8,opt,name=search"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// ZoneChangesOptions are query parameters of `GET zones/{name}/changes`.
type ZoneChangesOptions struct {
	metav1.TypeMeta `json:",inline"`

	// since is the serial before the first change. 0: the oldest held by the server; with watch, the current serial.
	// +optional
	Since int64 `json:"since,omitempty" protobuf:"varint,1,opt,name=since"`
	// until is the serial after the last change. 0: the current serial. Not with watch.
	// +optional
	Until int64 `json:"until,omitempty" protobuf:"varint,2,opt,name=until"`
	// sources adds user, Record and traceparent to each change, in form `definition` the traceparent alone. Needs
	// permission to list Records in all namespaces.
	// +optional
	Sources bool `json:"sources,omitempty" protobuf:"varint,3,opt,name=sources"`
	// form is `entries` (the default), `definition` or `history`.
	// +optional
	Form string `json:"form,omitempty" protobuf:"bytes,4,opt,name=form"`
	// format as in ZoneEntriesOptions.
	// +optional
	Format string `json:"format,omitempty" protobuf:"bytes,5,opt,name=format"`
	// watch continues with new changes until client or server ends the watch. Each change is a metav1.WatchEvent of
	// type MODIFIED with a ZoneChanges of one serial. An ERROR has a Status with the reason for the end: 410 if the
	// serial is no longer held.
	// +optional
	Watch bool `json:"watch,omitempty" protobuf:"varint,6,opt,name=watch"`
	// limit is the number of steps in form `history`, 500 by default, at most 1000. If there are more,
	// metadata.continue is set.
	// +optional
	Limit int64 `json:"limit,omitempty" protobuf:"varint,7,opt,name=limit"`
	// continue is the token from the previous answer in form `history`.
	// +optional
	Continue string `json:"continue,omitempty" protobuf:"bytes,8,opt,name=continue"`
	// sinceTime leaves out steps before a time (RFC 3339), in form `history`.
	// +optional
	SinceTime string `json:"sinceTime,omitempty" protobuf:"bytes,9,opt,name=sinceTime"`
	// fqdn is the DNS name of a deleted Zone, in form `history` of the name `-`: the last of the namespace, or of all
	// namespaces if the user may get zones/changes in all.
	// +optional
	FQDN string `json:"fqdn,omitempty" protobuf:"bytes,10,opt,name=fqdn"`
}
