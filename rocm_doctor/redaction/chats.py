"""People in chats and messengers: lines of an export, handles, ids of chats and of remote sessions."""

from __future__ import annotations

import re

from rocm_doctor.redaction.persons import CAPITAL
from rocm_doctor.redaction.prose import is_own
from rocm_doctor.redaction.rules import Pattern, Rule

CHATS = (
    Rule(
        ("today at ", "yesterday at ", "\u2014 today", "\u2014 yesterday", "\u2014 ", "\u2013 ", "- today", "- yesterday", "- heute", "- gestern"),
        Pattern(r"^[>*_ ]*(?P<user>[^\s*\u2014\u2013<>|][^\n*\u2014\u2013<>|]{1,40}?)[*_]* [\u2014\u2013-] (?:(?:today|yesterday|heute|gestern|hier|hoy|ayer|oggi|ieri|hoje|ontem)\b|\d{1,4}[./-]\d{1,2}[./-]\d{1,4})[^\n\d]{0,6}\d{1,2}:\d\d", re.I),
        "line",
    ),
    Rule((", [",), Pattern(r"^(?P<user>[^\s\[\],:][^\n\[\],:]{1,40}), \[\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d{1,2}:\d\d"), "line"),
    Rule(("\"real_name\"", "\"screen_name\""), Pattern(r"\"(?:real_name|screen_name)\": ?\"(?P<user>[^\"\n]{2,60})\"(?:, ?\"name\": ?\"(?P<user2>[^\"\n]{2,40})\")?|\"name\": ?\"(?P<user3>[^\"\n]{2,40})\"(?=[^\n{}]{0,200}\"real_name\")"), "line"),
    Rule(("qq", "\u5fae\u4fe1", "wechat", "weixin", "wx:", "line id", "kakao", "icq", "telegram id"), Pattern(r"(?<![^\W_])(?:qq(?:\u7fa4|\u53f7)?|\u5fae\u4fe1\u53f7?|wechat|weixin|wx|line id|kakao(?:talk)?(?: id)?|icq|telegram id)[:\uff1a# ]{1,3}(?:(?P<phone>\d{5,12})(?!\w)|(?P<user>[A-Za-z0-9][\w-]{4,30}))", re.I)),
    Rule(("chat-id", "chat_id", "chatid", "chat=", "chat:", "chat "), Pattern(r"chat(?:[-_]?id)?[\"']?[ =:]{1,3}[\"']?(?P<phone>-?\d{8,15})(?!\w)", re.I)),
    Rule((" am]", " pm]", "0]", "1]", "2]", "3]", "4]", "5]", "6]", "7]", "8]", "9]"), Pattern(r"^\[\d{1,2}:\d\d(?::\d\d)?(?: [AaPp][Mm])?\] <?(?P<user>[A-Za-z][\w.]{1,31}(?:#\d{4})?)>?:? "), "line", sure=False),
    Rule(("#",), Pattern(r"(?<![\w.#])(?P<user>[A-Za-z][\w.]{2,31}#\d{4})(?!\w)"), "line"),
    Rule(("@",), Pattern(r"@(?P<user>[\w.-]{2,40}) (?:on|in|auf|sur|en) (?:slack|mattermost|discord|teams|matrix|telegram|mastodon)\b", re.I)),
    Rule((" am", " pm"), Pattern(rf"^(?P<user>{CAPITAL} {CAPITAL}) {{1,3}}\d{{1,2}}:\d\d [AP]M\s*$"), "line", sure=False),
    Rule(
        ("discord.gg/", "discord.com/invite/", "zoom.us/j/", "keybase.io/", "t.me/", "linkedin.com/in/", "twitter.com/", "instagram.com/", "facebook.com/", "orcid.org/", "meet.google.com/", "ntfy.sh/", "signal.me/", "wa.me/", "calendly.com/"),
        Pattern(r"[\w.]+(?:/(?:invite|j|in))?/(?P<account>[\w.@-]{3,60})"),
        learn=False,
    ),
    Rule((" irc ", "irc: ", "handle", "nick", "discord", "telegram", "mastodon", "mattermost", "slack", "zulip", "signal", "skype"), Pattern(r" ?(?:irc|handle|nick(?:name)?|discord|telegram|mastodon|mattermost|slack|zulip|signal|skype)(?: (?:handle|nick|name|user|id|account))?(?: is|:| as|,? I am| user) @?(?P<user>[a-z][\w.-]{2,30})(?![\w(])", re.I), accept=is_own),
    Rule(("anydesk", "teamviewer", "rustdesk", "meeting id", "meeting-id", "webex", "zoom id", "zoom:"), Pattern(r"(?:anydesk|teamviewer|rustdesk|meeting.id|webex|zoom(?: id)?)\W{0,3}(?:id|adresse|address)?\W{0,4}(?P<phone>\d[\d ]{7,14}\d)(?:[^\n]{0,12}?(?:passcode|password|pw|pass|code)\W{1,4}(?P<token>\w{4,20}))?", re.I)),
)  # fmt: skip
