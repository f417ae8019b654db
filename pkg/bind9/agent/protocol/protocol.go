// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

const Base = "/api/v1"

const (
	Primary   = "primary"
	Secondary = "secondary"
)

type SOA struct {
	PrimaryNS   string  `json:"primaryNs"`
	AdminEmail  string  `json:"adminEmail"` // as a name, "hostmaster.example.org."
	Serial      *uint32 `json:"serial,omitempty"`
	Refresh     *uint32 `json:"refresh,omitempty"`
	Retry       *uint32 `json:"retry,omitempty"`
	Expire      *uint32 `json:"expire,omitempty"`
	NegativeTTL *uint32 `json:"negativeTtl,omitempty"`
}

type Record struct {
	Name  string  `json:"name"`
	Type  string  `json:"type"`
	Value string  `json:"value"`
	TTL   *uint32 `json:"ttl,omitempty"`
}

// ZoneConfig describes a new zone to an agent: its first records, and its options in named.conf. A secondary zone takes
// only the address lists and DNSSECPolicy, because its records come from a primary.
type ZoneConfig struct {
	TTL           *uint32           `json:"ttl,omitempty"` // seconds
	SOA           *SOA              `json:"soa,omitempty"`
	NameServers   []string          `json:"nameServers"`
	NameServerIPs map[string]string `json:"nameServerIps"` // required by bindcar; the agent uses Records
	Records       []Record          `json:"records,omitempty"`
	// AlsoNotify and Primaries are addresses with an optional port: "192.0.2.1", "192.0.2.1:5353", "[2001:db8::1]:53".
	// The agent also accepts a key, "192.0.2.1 key transfer", and "list NAME" for a server list of named.conf.
	AlsoNotify []string `json:"alsoNotify,omitempty"`
	Primaries  []string `json:"primaries,omitempty"`
	// AllowTransfer has addresses. The agent also accepts prefixes, "key NAME", "any" and "none".
	AllowTransfer []string `json:"allowTransfer,omitempty"`
	// DNSSECPolicy is the policy of named for signing the zone; "" means unsigned.
	DNSSECPolicy string `json:"dnssecPolicy,omitempty"`
}

type CreateZone struct {
	ZoneName      string     `json:"zoneName"`
	ZoneType      string     `json:"zoneType"`
	ZoneConfig    ZoneConfig `json:"zoneConfig"`
	UpdateKeyName string     `json:"updateKeyName,omitempty"`
	// KeyOwner owns the keys; keys of another owner do not sign the zone. Agent only.
	KeyOwner string `json:"keyOwner,omitempty"`
}

// ModifyZone is the body of PATCH /zones/{name}. An empty list removes the clause; nil keeps it.
type ModifyZone struct {
	AlsoNotify    *[]string `json:"alsoNotify,omitempty"`
	AllowTransfer *[]string `json:"allowTransfer,omitempty"`
	Primaries     *[]string `json:"primaries,omitempty"` // agent: as in ZoneConfig
	DNSSECPolicy  *string   `json:"dnssecPolicy,omitempty"`
}

// ZoneResponse answers requests about a zone. Details is named's text.
type ZoneResponse struct {
	Success bool          `json:"success"`
	Message string        `json:"message"`
	Details string        `json:"details,omitempty"`
	DNSSEC  *DNSSECStatus `json:"dnssec,omitempty"` // of GET /zones/{name}/status
	// KeyOwner is agent only.
	KeyOwner string `json:"keyOwner,omitempty"`
}

type DNSSECStatus struct {
	Policy string      `json:"policy"`
	Signed bool        `json:"signed"`
	Keys   []DNSSECKey `json:"keys"`
	// UnsignedSerial is that of the loaded or transferred zone. Agent only.
	UnsignedSerial *uint32 `json:"unsignedSerial,omitempty"`
}

type DNSSECKey struct {
	Tag  uint16 `json:"tag"`
	Role string `json:"role"`
	// DSState is named's state of the DS: hidden, rumoured, omnipresent or unretentive.
	DSState string `json:"dsState,omitempty"`
}

type ZoneList struct {
	Zones []string `json:"zones"`
	Count int      `json:"count"`
}

type DS struct {
	Success bool       `json:"success"`
	Zone    string     `json:"zone"`
	Records []DSRecord `json:"dsRecords"`
}

type DSRecord struct {
	KeyTag     uint16 `json:"keyTag"`
	Algorithm  uint8  `json:"algorithm"`
	DigestType uint8  `json:"digestType"`
	Digest     string `json:"digest"`
	RR         string `json:"rr"`
	// CDS is true if named requests this DS from the parent (RFC 7344). Agent only.
	CDS bool `json:"cds"`
}

type CheckDS struct {
	KeyTag uint16 `json:"keyTag"`
	DS     string `json:"ds"` // DSPublished or DSWithdrawn
}

const (
	DSPublished = "published"
	DSWithdrawn = "withdrawn"
)

type ServerStatus struct {
	Status string `json:"status"`
}

type Members struct {
	Zones   int    `json:"zones"`
	Missing int    `json:"missing"`
	Some    string `json:"some,omitempty"`
}

type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
	// Agent is "kubizone"; agent only.
	Agent string `json:"agent,omitempty"`
	// ConfigHash identifies named's loaded configuration; "" before a load, or without watched files. Agent only.
	ConfigHash string `json:"configHash,omitempty"`
}

type Ready struct {
	Ready  bool     `json:"ready"`
	Checks []string `json:"checks"`
}

type Error struct {
	Error   string  `json:"error"`
	Details *string `json:"details"`
}
