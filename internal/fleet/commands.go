package fleet

import "github.com/muster-gg/muster/internal/event"

// Commands lists the types of commands (101–199). A number is never reused; it is unrelated to the numbers of events.
// See package event.
var Commands = []event.Entry{
	{Number: 101, Type: (*AcceptPlayer)(nil)},
	{Number: 102, Type: (*ActivateGameSession)(nil)},
	{Number: 103, Type: (*BackfillGameSession)(nil)},
	{Number: 104, Type: (*ClaimGameSession)(nil)},
	{Number: 105, Type: (*Clear)(nil)},
	{Number: 106, Type: (*ConnectProcess)(nil)},
	{Number: 107, Type: (*CreateGameSession)(nil)},
	{Number: 108, Type: (*DeregisterCompute)(nil)},
	{Number: 109, Type: (*EndProcess)(nil)},
	{Number: 110, Type: (*ForgetGameSessions)(nil)},
	{Number: 111, Type: (*ConfirmGameSession)(nil)},
	{Number: 112, Type: (*IssueToken)(nil)},
	{Number: 113, Type: (*LoseProcess)(nil)},
	{Number: 114, Type: (*Interrupt)(nil)},
	{Number: 115, Type: (*ReadyProcess)(nil)},
	{Number: 116, Type: (*RegisterCompute)(nil)},
	{Number: 117, Type: (*RemovePlayer)(nil)},
	{Number: 118, Type: (*ReportHealth)(nil)},
	{Number: 119, Type: (*ReservePlayers)(nil)},
	{Number: 120, Type: (*SetPolicy)(nil)},
	{Number: 121, Type: (*TerminateGameSession)(nil)},
	{Number: 122, Type: (*UpdateGameSession)(nil)},
	{Number: 123, Type: (*ForgetPlayers)(nil), Level: ArchiveLevel},
}
