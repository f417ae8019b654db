// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package install

// dictionary has the octets that encoded Zones and Records share, tags and lengths of protobuf included. It never
// changes, because stored objects refer to it: another dictionary needs another beginning of its objects.
const dictionary = `{"apiVersion":"kubi.zone/v1alpha1","kind":"Record","metadata":{"annotations":{},"name":"","namespace":""},` +
	`"spec":{"domainName":"","ttl":300,"type":"CNAME","values":[""]}}` +
	"\x12\x05TXT\"\x04AAAA\"\x02MX\"\x03SRV\"\x02NSv=spf1 include: ~allv=DMARC1; p=none" +
	"heritage=external-dns,external-dns/owner=,external-dns/resource=" +
	"0kubectl.kubernetes.io/last-applied-configuration\x12" +
	`{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}},"f:labels":{},"f:finalizers":{` +
	`".":{},"v:\"kubi.zone/delivery\"":{}}},"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},` +
	`"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}}}}}` +
	"\x19kubectl-client-side-apply\x12\x05Apply\x0ekubectl-create\x0ckubectl-edit\x0ckubectl-patch" +
	"*\x07Pending27written, and not yet confirmed by every class in force\x12\x07Unknown\x18\x01\x12\x05False" +
	"*\tDelivered2.every class in force has confirmed serial 20" +
	"k8s\x00\n\x1a\n\x12kubi.zone/v1alpha1\x12\x04Zone\x12\x12\x00\x1a\x08\"\x00*$2\x008\x01B\x08\x08\xf5\xb6\xb7\xd8\x06\x10\x00z\x12" +
	"kubi.zone/delivery\x8a\x01\x86\x02\n\x0e\x12\x06Update\x1a\x12kubi.zone/v1alpha1\"\x08\x08\xf5\xb6\xb7\xd8\x06\x10\x00" +
	"2\x08FieldsV1:\xc1\x01\n\xbe\x01" + `{"f:spec":{"f:delegations":{},"f:deletionPolicy":{},"f:domainName":{},"f:expire":{},` +
	`"f:nameServers":{},"f:negativeResponseCache":{},"f:refresh":{},"f:retry":{},"f:withdrawalGracePeriod":{}}}` +
	"B\x00\x12c\n\x0c\x12\x00\"\x11\n\x05\n\x01*\x18\x00\x1a\x06(\x00*\x11\n\x03ns1\x12\n0\xe8\x028\x80\xa3\x05@\xa08H\x80" +
	"\xdd\xdb\x01P\xe8\x02" +
	"Z\x00b\x00\x80\x01\x00\x8a\x01\x06Delete\x92\x01\x08\x08\x80\x80\xbc\x8a\xc9\xd2\x13\x1a\xaf\x04\x08\x01\x12\x0c\x1a" +
	"\x00 \xec\x8f\x90\xc6\x07" +
	"(\xec\x8f\x90\xc6\x072@:+@\x06H\x07Z\x97\x01\n\x05Ready\x12\x04True\x18\x01\"\x08\x08\xf5\xb6\xb7\xd8\x06\x10\x00*\x07NoClass2s" +
	"the zone names no class and no default class applies; only secondaries that transfer the zone by themselves have it" +
	"Z>\n\tDelegated\x12\x04True\x18\x01\"\x08\x08\xf5\xb6\xb7\xd8\x06\x10\x00*\nStandalone2\x13no zone encloses it" +
	"Z8\n\x07Settled\x12\x04True\x18\x01\"\x08\x08\xf5\xb6\xb7\xd8\x06\x10\x00*\x07Settled2\x12no pending changes" +
	"ZY\n\x08Servable\x12\x04True\x18\x01\"\x08\x08\xf5\xb6\xb7\xd8\x06\x10\x00*\x08Servable21every name server has the addr" +
	"esses that it needs" +
	"h\x03z \x08\x00\x10\xf0\xb4\xb7\xd8\x06\x1a\x04\x08\x00\x10\x00\x1a\x04\x08\x00\x10\x00\x1a\x04\x08\x00\x10\x00\"\x04" +
	"\x08\x03\x10\x00\x82\x01" +
	"\x08\x08\xfa\xb6\xb7\xd8\x06\x10\x00\x1a\x00\"\x00" +
	"k8s\x00\n\x1c\n\x12kubi.zone/v1alpha1\x12\x06Record\x12\x92\x05\n\x8a\x02\n\x07\x12\x00\x1a\x06\"\x00*$2\x008\x01B\x08" +
	"\x08\xfa\xb6\xb7\xd8\x06\x10\x00" +
	"Z%\n\x15kubi.zone/parent-zone\x12\x0c\x8a\x01\x96\x01\n\x0e\x12\x06Update\x1a\x12kubi.zone/v1alpha1\"\x08\x08\xfa\xb6" +
	"\xb7\xd8\x06\x10\x00" +
	"2\x08FieldsV1:R\nP" + `{"f:spec":{"f:class":{},"f:domainName":{},"f:ttl":{},"f:type":{},"f:values":{}}}` + "B\x00\x120" +
	"\n\x14\x12\x00" +
	"\"\x01A*\x02IN0\xac\x02:\x00B\x08J\x00\x1a\xd0\x02\x08\x01\x12\x14\x1a\x00\"5\n\x08\x12\x03\x1a$(\xec\x8f\x90\xc6\x072\x00" +
	":\x97\x01\n\x05Ready\x12\x04True\x18\x01\"\x08\x08\xfa\xb6\xb7\xd8\x06\x10\x00*\x07NoClass2s" +
	":T\n\x07Adopted\x12\x04True\x18\x01\"\x08\x08\xfa\xb6\xb7\xd8\x06\x10\x00*\x07Adopted2.in zone example.org. by delegati" +
	"on pattern \"*\"" +
	"J\x05Plain\x1a\x00\"\x00"
