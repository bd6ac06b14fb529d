-- Date arithmetic where engines differ. The models call these names; here DuckDB gets them, as macros that stay in the
-- warehouse, because views call them. Another engine defines functions of the same names: the line `-- spark:` above each is
-- the function that Spark defines, in a session in UTC.
-- Everything is in UTC, whatever the time zone of the session; `ts` is a timestamp with time zone, `…_on` a date. The macros
-- use microseconds since 1970, because the engine's time zone arithmetic costs ten times as much on millions of rows.

-- The calendar date of `ts`.
-- spark: utc_date(ts timestamp) returns date return to_date(ts)
create or replace macro utc_date(ts) as
    cast(make_timestamp(epoch_us(ts)) as date);

-- Calendar days from `a` to `b`, both timestamps; negative when `b` is earlier.
-- spark: days_between(a timestamp, b timestamp) returns int return datediff(b, a)
create or replace macro days_between(a, b) as
    cast(utc_date(b) - utc_date(a) as integer);

-- Calendar days from one date to another.
-- spark: days_between_dates(from_on date, to_on date) returns int return datediff(to_on, from_on)
create or replace macro days_between_dates(from_on, to_on) as
    cast(to_on - from_on as integer);

-- The Monday of the ISO week that holds `ts`.
-- spark: week_start(ts timestamp) returns date return to_date(date_trunc('WEEK', ts))
create or replace macro week_start(ts) as
    cast(date_trunc('week', utc_date(ts)) as date);

-- The first day of the month that holds `ts`.
-- spark: month_start(ts timestamp) returns date return to_date(date_trunc('MONTH', ts))
create or replace macro month_start(ts) as
    cast(date_trunc('month', utc_date(ts)) as date);

-- Whether `ts` is 00:00 on the first of a month: the date of a change whose month alone is known.
-- spark: is_month_start(ts timestamp) returns boolean return ts = date_trunc('MONTH', ts)
create or replace macro is_month_start(ts) as
    extract(day from utc_date(ts)) = 1 and epoch_us(ts) % 86400000000 = 0;

-- How well a date is known: `month` where `ts` is 00:00 on the first of a month, and `year` where that is January: a date known
-- to the year alone is also written that way, and the two cannot be distinguished.
-- spark: date_precision(ts timestamp) returns string return if(ts is null, null, if(ts = date_trunc('YEAR', ts), 'year', if(ts = date_trunc('MONTH', ts), 'month', 'day')))
create or replace macro date_precision(ts) as
    case
        when ts is null then null
        when not is_month_start(ts) then 'day'
        when extract(month from utc_date(ts)) = 1 then 'year'
        else 'month'
    end;

-- Whether a change can have been at `ts`: careers begin in 1940 or later, the instant 0 of computers (1970-01-01) is a
-- placeholder, and announcements come at most 5 years ahead. `seen_at` is when it was detected, or received where that is
-- earlier.
-- spark: is_career_date(ts timestamp, seen_at timestamp) returns boolean return to_date(ts) >= date '1940-01-01' and unix_micros(ts) <> 0 and datediff(ts, seen_at) <= 1827
create or replace macro is_career_date(ts, seen_at) as
    utc_date(ts) >= date '1940-01-01' and epoch_us(ts) <> 0 and days_between(seen_at, ts) <= 1827;

-- The best known time of a change. An implausible date says nothing; then the time at which the change was seen counts.
-- spark: career_date(ts timestamp, seen_at timestamp) returns timestamp return if(is_career_date(ts, seen_at), ts, seen_at)
create or replace macro career_date(ts, seen_at) as
    case when is_career_date(ts, seen_at) then ts else seen_at end;

-- The last day on which a change dated `ts` can have happened: the end of the month where only the month is known.
-- spark: latest_date(ts timestamp) returns date return if(ts = date_trunc('MONTH', ts), last_day(ts), to_date(ts))
create or replace macro latest_date(ts) as
    case when is_month_start(ts) then last_day(utc_date(ts)) else utc_date(ts) end;

-- The last day on which a change dated `ts` can have happened, by its precision: with `year` the last of the year.
-- spark: latest_on(ts timestamp, known_to string) returns date return case known_to when 'year' then make_date(year(ts), 12, 31) when 'month' then last_day(ts) else to_date(ts) end
create or replace macro latest_on(ts, known_to) as
    case known_to
        when 'year' then make_date(cast(extract(year from utc_date(ts)) as integer), 12, 31)
        when 'month' then last_day(utc_date(ts))
        else utc_date(ts)
    end;

-- As `latest_on`, for a change seen at an instant: a change of this year that was seen in June is not of July. Within the dated
-- month, every day is possible.
-- spark: latest_seen(ts timestamp, known_to string, seen_at timestamp) returns date return case known_to when 'year' then least(make_date(year(ts), 12, 31), greatest(last_day(ts), to_date(seen_at))) when 'month' then last_day(ts) else to_date(ts) end
create or replace macro latest_seen(ts, known_to, seen_at) as
    case known_to
        when 'year' then least(latest_on(ts, known_to), greatest(last_day(utc_date(ts)), utc_date(seen_at)))
        else latest_on(ts, known_to)
    end;

-- As `latest_date`, with a known precision, so that it also holds for a date that comes after another one of its month.
-- spark: latest_dated(ts timestamp, known_to string) returns date return if(known_to in ('month', 'year'), last_day(ts), to_date(ts))
create or replace macro latest_dated(ts, known_to) as
    case when known_to in ('month', 'year') then last_day(utc_date(ts)) else utc_date(ts) end;

-- Whole calendar months from one date to a later one: 31 January to 28 February is none, to 1 March one.
-- spark: whole_months(from_on date, to_on date) returns int return (year(to_on) - year(from_on)) * 12 + month(to_on) - month(from_on) - if(day(to_on) < day(from_on), 1, 0)
create or replace macro whole_months(from_on, to_on) as
    cast(
        (extract(year from to_on) - extract(year from from_on)) * 12
        + extract(month from to_on) - extract(month from from_on)
        - case when extract(day from to_on) < extract(day from from_on) then 1 else 0 end
        as integer
    );

-- The order of events at one instant that were detected together.
-- spark: event_type_order(event_type string) returns int return case event_type when 'joined' then 1 when 'title_change' then 2 else 3 end
create or replace macro event_type_order(event_type) as
    case event_type when 'joined' then 1 when 'title_change' then 2 else 3 end;

-- The title that an event names: the one after the change or, for a leaving, the one that was left.
-- spark: title_said(event_type string, title_current string, title_previous string) returns string return if(event_type = 'left', coalesce(title_current, title_previous), title_current)
create or replace macro title_said(event_type, title_current, title_previous) as
    case when event_type = 'left' then coalesce(title_current, title_previous) else title_current end;

-- A 40-bit hash of a text and `ts`, for sums that show whether two histories are the same.
-- spark: checksum(told string, ts timestamp) returns bigint return cast(conv(substr(md5(concat(told, '|', unix_micros(ts))), 1, 10), 16, 10) as bigint)
create or replace macro checksum(told, ts) as
    cast('0x' || substr(md5(told || '|' || cast(epoch_us(ts) as varchar)), 1, 10) as bigint);

-- The months since the year 0, for windows of months.
-- spark: month_number(day_on date) returns int return year(day_on) * 12 + month(day_on)
create or replace macro month_number(day_on) as
    cast(extract(year from day_on) * 12 + extract(month from day_on) as integer);

-- The first day of a month by its number.
-- spark: month_of_number(number int) returns date return make_date((number - 1) div 12, (number - 1) % 12 + 1, 1)
create or replace macro month_of_number(number) as
    make_date((number - 1) // 12, (number - 1) % 12 + 1, 1);

-- Whether a title, as understood, is that of a founder. A former founder, or an associate of the founders, has another level.
-- spark: is_founder_title(level string, core string) returns boolean return coalesce(level = 'cxo' and (core like '%founder%' or core like '%founding partner%'), false)
create or replace macro is_founder_title(level, core) as
    coalesce(level = 'cxo' and (core like '%founder%' or core like '%founding partner%'), false);

-- The date `days` days after `from_on`, or before it where `days` is negative.
-- spark: days_later(from_on date, days int) returns date return date_add(from_on, days)
create or replace macro days_later(from_on, days) as
    cast(from_on + cast(days as integer) as date);

-- The form common to all spellings of a page, a handle or a slug: without protocol, www, the subdomain of a country or of phones,
-- query, fragment and slash at the end, percent-encoding resolved, in lower case.
-- spark: page_name(page string) returns string return regexp_replace(regexp_replace(lower(trim(coalesce(try_url_decode(replace(regexp_replace(page, '[?#].*$', ''), '+', '%2B')), regexp_replace(page, '[?#].*$', '')))), '^(?:(?:[a-z]+:)?//)?(?:(?:www|m|[a-z]{2})[.]([^/]+[.][^/]+))?', '$1'), '/+$', '')
create or replace macro page_name(page) as
    regexp_replace(
        regexp_replace(
            lower(trim(coalesce(try(url_decode(regexp_replace(page, '[?#].*$', ''))), regexp_replace(page, '[?#].*$', '')))),
            '^(?:(?:[a-z]+:)?//)?(?:(?:www|m|[a-z]{2})[.]([^/]+[.][^/]+))?',
            '\1'
        ),
        '/+$',
        ''
    );

-- Latin letters as a keyboard writes them: in lower case, without accents and strokes, of ordinary width, ligatures as two letters.
-- Spark knows the accents of Europe.
-- spark: plain_letters(name string) returns string return replace(replace(replace(replace(replace(replace(translate(regexp_replace(lower(name), '[\\u0300-\\u036f]', ''), 'àáâãäåāăąçćĉċčďèéêëēĕėęěĝğġģĥìíîïĩīĭįĵķĺļľñńņňòóôõöōŏőŕŗřśŝşšţťùúûüũūŭůűųŵýÿŷźżžøđðłħıŧａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ０１２３４５６７８９', 'aaaaaaaaacccccdeeeeeeeeegggghiiiiiiiijklllnnnnoooooooorrrssssttuuuuuuuuuuwyyyzzzoddlhitabcdefghijklmnopqrstuvwxyz0123456789'), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'ﬁ', 'fi'), 'ﬂ', 'fl')
create or replace macro plain_letters(name) as
    replace(replace(replace(replace(replace(replace(
        translate(
            strip_accents(lower(name)),
            'øđðłħıŧａｂｃｄｅｆｇｈｉｊｋｌｍｎｏｐｑｒｓｔｕｖｗｘｙｚ０１２３４５６７８９',
            'oddlhitabcdefghijklmnopqrstuvwxyz0123456789'
        ),
        'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'), 'ﬁ', 'fi'), 'ﬂ', 'fl');

-- The form common to all spellings of a name: its letters, with one blank for any blanks, apostrophes and hyphens between them,
-- and without blanks in Chinese, Japanese and Korean names. Marks of scripts other than Latin make other letters.
-- spark: plain_name(name string) returns string return case when name rlike '[\\p{IsLatin}\\uff21-\\uff5a]' then trim(regexp_replace(plain_letters(name), '[\\s\\p{Z}\\p{P}\\p{S}]+', ' ')) when name rlike '[\\p{IsHan}\\p{IsHiragana}\\p{IsKatakana}\\p{IsHangul}]' then regexp_replace(lower(name), '[\\s\\p{Z}\\p{P}\\p{S}]+', '') else trim(regexp_replace(lower(name), '[\\s\\p{Z}\\p{P}\\p{S}]+', ' ')) end
create or replace macro plain_name(name) as
    case
        when regexp_matches(name, '[\p{Latin}Ａ-ｚ]')
            then trim(regexp_replace(plain_letters(name), '[\s\pZ\pP\pS]+', ' ', 'g'))
        when regexp_matches(name, '[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]')
            then regexp_replace(lower(nfc_normalize(name)), '[\s\pZ\pP\pS]+', '', 'g')
        else trim(regexp_replace(lower(nfc_normalize(name)), '[\s\pZ\pP\pS]+', ' ', 'g'))
    end;

-- The last part of a page, such as `acme` of network.example/company/acme.
-- spark: page_part(page string) returns string return regexp_replace(page_name(page), '^.*/', '')
create or replace macro page_part(page) as
    regexp_replace(page_name(page), '^.*/', '');

-- The id of a job posting, from the id or any address that contains it; null where there is none.
-- spark: posting_id(page string) returns string return nullif(regexp_extract(page, '(?:^|/jobs/view/(?:[^/?#]*-)?|[?&]currentJobId=)([0-9]{1,20})(?:/?[?#].*|&.*|/)?$', 1), '')
create or replace macro posting_id(page) as
    nullif(regexp_extract(page, '(?:^|/jobs/view/(?:[^/?#]*-)?|[?&]currentJobId=)([0-9]{1,20})(?:/?[?#].*|&.*|/)?$', 1), '');

-- The text, number or JSON of a member of a JSON document, by a path such as $.message.name; null where it is missing, or null.
-- spark: json_text(document string, path string) returns string return get_json_object(document, path)
create or replace macro json_text(document, path) as
    try(json_extract_string(document, path));

-- As json_text, for an object at the top of an answer, or below message, data or post: `path` is relative to that object.
-- spark: thing_text(document string, path string) returns string return coalesce(get_json_object(document, concat('$.', path)), get_json_object(document, concat('$.message.', path)), get_json_object(document, concat('$.data.', path)), get_json_object(document, concat('$.post.', path)))
create or replace macro thing_text(document, path) as
    coalesce(
        json_text(document, '$.' || path),
        json_text(document, '$.message.' || path),
        json_text(document, '$.data.' || path),
        json_text(document, '$.post.' || path)
    );

-- A count as pages write it, such as 12,345; null where it is not a count, or does not fit. Some write -1 for an unknown count.
-- spark: whole_number(text string) returns int return case when text like '-%' then null else try_cast(regexp_replace(text, '[,. ]', '') as int) end
create or replace macro whole_number(text) as
    case when text not like '-%' then try_cast(regexp_replace(text, '[,. ]', '', 'g') as integer) end;

-- The items of a list in a JSON document; null or empty where there is no list.
-- spark: json_list(document string, path string) returns array<string> return from_json(get_json_object(document, path), 'array<string>')
create or replace macro json_list(document, path) as
    try(json_extract(document, path || '[*]'));

-- A row for each item of a `json_list`, with its place, from 1. It takes a list instead of a document, because a lateral join
-- repeats its argument for each item: 1.4 MB each time for a delivery of 1,200 activities. A list is not repeated, and without
-- another condition on items nothing is joined.
-- spark: json_items(items array<string>) returns table(item string, place int) return select item, place + 1 from (select posexplode(items) as (place, item))
create or replace macro json_items(items) as table
    select
        cast(unnest(items) as varchar) as item,
        cast(generate_subscripts(items, 1) as integer) as place;

-- The fields of an activity that tables show. A dozen calls of `json_text` would need a hundred times the memory.
-- spark: activity_of(item string) returns struct<event_id: string, profile_url: string, profile_name: string, signal_type: string, detected_at: string, change_data: struct<occurred_at: string, reaction_type: string, comment_text: string, post_url: string, post_text: string, post_author: struct<name: string, url: string>>> return from_json(item, 'event_id string, profile_url string, profile_name string, signal_type string, detected_at string, change_data struct<occurred_at: string, reaction_type: string, comment_text: string, post_url: string, post_text: string, post_author: struct<name: string, url: string>>')
create or replace macro activity_of(item) as
    try(
        from_json(
            item,
            '{"event_id": "VARCHAR", "profile_url": "VARCHAR", "profile_name": "VARCHAR", "signal_type": "VARCHAR",
            "detected_at": "VARCHAR", "change_data": {"occurred_at": "VARCHAR", "reaction_type": "VARCHAR",
            "comment_text": "VARCHAR", "post_url": "VARCHAR", "post_text": "VARCHAR",
            "post_author": {"name": "VARCHAR", "url": "VARCHAR"}}}'
        )
    );

-- The instant of a text of milliseconds since 1970 UTC; null where it is not one.
-- spark: instant_of_ms(ms string) returns timestamp return timestamp_millis(try_cast(ms as bigint))
create or replace macro instant_of_ms(ms) as
    to_timestamp(try_cast(ms as bigint) / 1000);

-- The instant of a text in ISO 8601; null where it is not one.
-- spark: instant_of(iso string) returns timestamp return try_cast(iso as timestamp)
create or replace macro instant_of(iso) as
    try_cast(iso as timestamp with time zone);
