// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package masterfile is a back end of the webhook server that writes the zone files of a name server, such as BIND, and
// has it load them.
//
// It promises: (1) a file is the old or the new one, never a part: it is written beside, checked, and renamed; (2) the
// serial grows with each change and with nothing else; (3) what is answered as done is in the file, and the command
// that loads it succeeded after that: one that failed is repeated; (4) a file with a line that is not understood is
// left alone; (5) no shell sees a name or a value; (6) an RRset that would keep the zone from loading is refused by
// itself, and those beside it are written.
//
// It does not know the name server, only two commands: one that checks a file and one that loads a zone. Comments and
// the order of a file are lost when it is written.
//
// Read backend.go, then content.go.
package masterfile
