// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

// formerHoles are scripts with a former loss of a class, by number of the finding.
var formerHoles = []struct{ number, class, script string }{
	{"N2", "claimed name: a stranger speaks from above", `
own rules a: *; b: *
b writes y.x A
a writes _acme-challenge.x TXT
`},
	{"N2", "claimed name: a stranger speaks at it", `
own rules a: *; b: *
b writes x A
a writes x TXT
`},
	{"attack 64", "claimed name: a stranger speaks at it", `
own rules a: *[any]; b: *
a writes x NS ns.x
b writes ns.x A
`},
	{"attack 64", "name below a cut: taken over", `
own rules a: *; b: zone:*
a writes y.x A
b zones x
`},
	{"F2", "named name: a record is refused", `
own rules a: *; b: x
a writes x A
b writes x A
`},
	{"F2", "named name: a stranger speaks at it", `
own rules a: *; b: x
a writes y.x A
`},
	{"F2", "named name: a zone is refused", `
own rules a: *; b: zone:x
a writes y.x A
b zones x
`},
	{"F2b", "named name: a zone is refused", `
own rules c: *; b: zone:x
b zones x; c: *
c writes y.x A
servers settle
b unzones x
servers settle
b zones x; c: *
`},
	{"F1", "awaited own name: a stranger speaks at it", `
own rules c: *
own writes x A
own writes x CNAME wait
own deletes x A
c writes x CNAME
`},
	{"F1", "awaited own name: a record waits on", `
own rules c: *
own writes x A
own writes x CNAME wait
own deletes x A
c writes x CNAME
servers settle
`},
	{"F1", "awaited name: a stranger speaks at it", `
own rules a: *; c: *
a writes x A
a writes x CNAME wait
a deletes x A
c writes x CNAME
`},
	{"F1", "awaited name: a record waits on", `
own rules a: *; c: *
a writes x A
a writes x CNAME wait
a deletes x A
c writes x CNAME
servers settle
`},
	{"F7", "named name: locked", `
own rules a: *.x zone:*.x; c: x *.x
a zones y.x; a: *
a writes z.y.x A
servers settle
c writes x A
a unzones y.x
c writes x A
`},
	{"F7", "name of an underscore rule: locked", `
own rules a: *.x zone:*.x; cert: _acme-challenge.x
a zones y.x; a: *
a writes z.y.x A
servers settle
a unzones y.x
cert writes _acme-challenge.x TXT
`},
	{"F1", "awaited own name: a stranger speaks from above", `
own rules c: *
own writes y.x A
own writes y.x CNAME wait
own deletes y.x A
c writes x CAA
`},
	{"F1", "awaited name: a stranger speaks from above", `
own rules a: *; c: *
a writes y.x A
a writes y.x CNAME wait
a deletes y.x A
c writes x CAA
`},
	{"F4", "own underscore name: a stranger speaks at it", `
own rules a: *
own writes _sip._tcp.x SRV
a writes _sip._tcp.x SRV
`},
	{"F4", "own name: a stranger speaks at it", `
own rules a: *
own writes x A
a writes y.x A
`},
	{"F4", "own name: silenced", `
own rules cert: *
own writes *.x A
cert writes _acme-challenge.y.x TXT
`},
	{"F8", "name of the apex's clients: a stranger speaks at it", `
own rules a: *
a writes wpad A
`},
	{"F8", "name of the apex's clients: a stranger speaks from above", `
own rules a: *
a writes *.wpad A
cert writes _acme-challenge.y.wpad TXT
`},
	{"F8", "name of the apex's clients: a record is refused by data", `
own rules a: *
a writes wpad CNAME
own writes wpad A
`},
	{"F8", "name of the apex's clients: a zone is refused by data", `
own rules a: *
a writes wpad CNAME
own zones wpad; a: *
`},
	{"F8", "name of the apex's clients: a record waits on", `
own rules a: *
a writes wpad CNAME
own writes wpad A wait
`},
	{"F8", "name of the apex's clients: silenced", `
own rules cert: *
own writes *.wpad A
cert writes _acme-challenge.y.wpad TXT
`},
	{"new 1", "own name: a stranger speaks from above", `
own rules a: *
own writes x A
a writes *.z.x A
cert writes _acme-challenge.y.z.x TXT
`},
	{"F4", "own underscore name: a record is refused by data", `
own rules a: *
own writes _acme-challenge.x DS
a writes _acme-challenge.x TXT x100
own writes _acme-challenge.x TXT
`},
	{"F3", "claimed name: silenced", `
own rules a: *; cert: _acme-challenge.*.x
a writes *.x A
cert writes _acme-challenge.y.x TXT
`},
	{"F3", "named name: silenced", `
own rules a: x *.x; cert: _acme-challenge.*.x
a writes *.x A
cert writes _acme-challenge.y.x TXT
`},
	{"F3", "own name: silenced", `
own rules cert: _acme-challenge.*.x
own writes *.x A
cert writes _acme-challenge.y.x TXT
`},
	{"F3", "name named for own: silenced", `
own rules own: x; cert: _acme-challenge.*.x
own writes *.x A
cert writes _acme-challenge.y.x TXT
`},
	{"F3", "own name: silenced", `
own rules a: *.x; cert: _acme-challenge.*.x
own writes *.x A
a writes y.x A
cert writes _acme-challenge.y.x TXT
a deletes y.x A
`},
	{"F3", "named name: silenced", `
own rules c: *
own writes _acme-challenge.z.y.x A
c writes y.x A
own writes *.x SRV
own rules b: x
servers settle
`},
	{"F11a", "named name: a record is refused by data", `
own rules a: x *.x; cert: _acme-challenge.*
a writes x A
cert writes _acme-challenge.x TXT x100
a writes _acme-challenge.x TXT
`},
	{"F11a", "claimed name: a record is refused by data", `
own rules a: *; cert: _acme-challenge.*
a writes x A
cert writes _acme-challenge.x TXT x100
a writes _acme-challenge.x TXT
`},
	{"F11a", "own name: a record is refused by data", `
own rules cert: _acme-challenge.*
own writes x A
cert writes _acme-challenge.x TXT x100
own writes _acme-challenge.x TXT
`},
	{"F11a", "named name: a record is refused by data", `
own rules a: x *.x; cert: _acme-challenge.*
a writes x A
cert writes _acme-challenge.x CNAME
a writes _acme-challenge.x TXT
`},
	{"F11a", "name named for own: a record is refused by data", `
own rules own: x[any]; cert: _acme-challenge.*
cert writes _acme-challenge.x TXT x100
own writes _acme-challenge.x TXT
`},
	{"F8", "host of own's pointer: a stranger has it", `
own rules a: *
own writes y MX x
a writes x A
`},
	{"F8", "host of own's pointer: a stranger has it", `
own rules a: *
own writes _sip._tcp SRV x
a writes x A
`},
	{"F8", "host of own's pointer: a stranger has it", `
own rules a: *
own writes w CNAME x
a writes x A
`},
	{"F8", "host of own's pointer: a stranger has it", `
own rules a: *
a writes *.x A
own writes @ MX y.x
`},
	{"F8", "host of own's pointer: a stranger has it", `
own rules a: *
own writes w MX y.x
a writes *.x A
`},
	{"F8", "host of own's pointer: a stranger has it", `
own rules a: * x[any]
own writes w MX y.x
a writes x DNAME w
`},
	{"F8", "host of own's pointer: a stranger has it", `
own rules a: *
own writes w A
own writes w CNAME x wait
a writes x A
own deletes w A
servers settle
`},
	{"F6", "zone: a stranger's DS", `
own rules b: x[DS,A]
b writes x DS
own zones x; a: *
servers settle
`},
	{"F6", "zone: a stranger's DS", `
own rules b: x[DS,A]
b writes x DS
own rules a: *
own zones x; a: *
servers settle
`},
	{"new 5", "named name: a record waits on", `
own rules c: shared:x; cert: *.y.x
cert writes _acme-challenge.y.y.x TXT
own writes *.x A
c writes x CNAME wait
`},
	{"new 6", "named name: a stranger speaks at it", `
own rules cert: zone:y.x
own zones x; a: *
a writes y.x AAAA
`},
	{"new 7", "claimed name: a stranger speaks at it", `
own rules a: * zone:x; b: * zone:x
a writes x CNAME w
b writes y.x AAAA
own rules a: *; b: *.x
servers settle
`},
	{"F8", "host of own's pointer: a stranger has it", `
own rules a: zone:*
a zones x
servers settle
own writes w HTTPS x
`},
	{"F8", "host of own's pointer: a stranger has it", `
own rules a: zone:*
own writes w HTTPS x
a zones x
servers settle
`},
}
