/**
 * Classifies the change between two consecutive titles of one person at one organisation. Levels decide the direction;
 * where they are about the same, the words decide whether it is another job or the same one in other words.
 */

import { roles, stepsOfTrades } from './functions.ts'
import { kept } from './kept.ts'
import { rankRanges, stepNamed } from './lexicon.ts'
import { isKnownWord, toEnglish } from './to-english.ts'
import { stepOfLadders } from './trade-steps.ts'
import { coreOf, readJob, readTitle, type Job, type ReadTitle } from './understand.ts'
import { isOtherGender, isWithinOneEdit, splitTitle } from './words.ts'

/**
 * It is one job where the words are the same, or were only added or only removed. It is another job where words were
 * replaced, or where the field of work differs.
 */
function isSameJob(before: ReadTitle, after: ReadTitle): boolean {
  if (before.job.leads !== after.job.leads) return false
  const a = before.job
  const b = after.job
  if (!hasMore(a.words, b.words) && !hasMore(b.words, a.words)) {
    return !hasMore(a.field, b.field) || !hasMore(b.field, a.field)
  }
  const isRemoved = saysMore(a, after)
  const isAdded = saysMore(b, before)
  return isRemoved && isAdded ? false : isRemoved === isAdded || isOneFunction(before, after)
}

/** Whether a job has a word that another title has nowhere, not even as a team. */
function saysMore({ words, field }: Job, { english, job }: ReadTitle): boolean {
  const others = [...english, ...job.words.flatMap(wordsOf)]
  return hasMore([...words, ...field].flatMap(wordsOf), others)
}

/** Whether a list has words that another one lacks. */
function hasMore(words: readonly string[], others: readonly string[]): boolean {
  return words.some((word) => !others.includes(word))
}

function wordsOf(text: string): string[] {
  return text.split(' ')
}

/** "Designer" → "Product Designer" is one function, "Product Manager" → "Product Marketing Manager" are two. */
function isOneFunction(before: ReadTitle, after: ReadTitle): boolean {
  const a = before.function
  const b = after.function
  // A general job ("consultant") is in no field yet that another could replace.
  if (a === null || b === null || a.strength === 'default' || b.strength === 'default') return true
  return a.function === b.function || a.function === 'other' || b.function === 'other'
}

const SHORTEST_MISTYPED = 5

/** Whether two lists of words differ in one word, and that by a letter or two. */
function isTypingError(a: readonly string[], b: readonly string[]): boolean {
  const [wrong, ...moreWrong] = a.filter((word) => !b.includes(word))
  const [right, ...moreRight] = b.filter((word) => !a.includes(word))
  if (wrong === undefined || right === undefined) return false
  if (moreWrong.length + moreRight.length > 0) return false
  if (Math.min(wrong.length, right.length) < SHORTEST_MISTYPED) return false
  // "Trainer" is not a spelling of "trainee".
  return !(isKnownWord(wrong) && isKnownWord(right)) && isWithinOneEdit(wrong, right)
}

/** Whether two lists hold the same words, as `isSame` has it, in the same order. */
function isEqual(
  a: readonly string[],
  b: readonly string[],
  isSame: (one: string, other: string) => boolean = (one, other) => one === other,
): boolean {
  return a.length === b.length && a.every((word, at) => isSame(word, b[at] ?? ''))
}

/** Clearly up, clearly down, another role at about the same level, the same job in other words, or not known. */
export type TitleChange = 'promotion' | 'demotion' | 'lateral' | 'retitle' | 'unclassified'

/** The kind of a change of title, the rule that decided, and how likely it is right (0 to 1). */
export interface ComparedTitles {
  readonly label: TitleChange
  readonly rule: string
  readonly confidence: number
}

function verdict(label: TitleChange, rule: string, confidence: number): ComparedTitles {
  return { label, rule, confidence }
}

// Two ranks this far apart are a step that everyone reads as one.
const CLEAR_STEP = 2
// From here on a rise or fall is certain.
const FAR_STEP = 12
// This far apart two languages do not say the same.
const STEP_OF_TRANSLATION = 21

/**
 * Classifies the change from `previous` to `current`; abstains with `unclassified` where one is not understood.
 * @param ladder name of the organisation's ladder, `standard` where it has none
 */
export function compareTitles(
  previous: string,
  current: string,
  ladder = 'standard',
): ComparedTitles {
  const before = readTitle(previous, ladder)
  const after = readTitle(current, ladder)
  const same = sameWords(before, after)
  if (same !== null) return same
  // A job that is over is not a step of a career.
  const isEnd = before.understood.isEndMarker !== after.understood.isEndMarker
  if (isEnd) return verdict('unclassified', 'job_ended', 0)
  // Who comes to a works council or a union keeps the job.
  const isSeat = before.understood.isSeatOfStaff !== after.understood.isSeatOfStaff
  const isFirm = isSeat || isIntoFirm(before, after) || isOutOfFirm(before, after)
  if (isFirm) return verdict('unclassified', 'side_role', 0)
  const change = ofJobs(before, after)
  // An interim CEO who is CFO again was not demoted.
  const isEndOfInterim = before.understood.isInterim && !after.understood.isInterim
  return isEndOfInterim && change.label === 'demotion'
    ? verdict('lateral', 'interim_ended', change.confidence)
    : change
}

function ofJobs(before: ReadTitle, after: ReadTitle): ComparedTitles {
  // "Assistant Director" → "Director" is a rise, the way back a fall.
  const isRise = isDeputyOf(before.inOrder, after.inOrder)
  if (isRise || isDeputyOf(after.inOrder, before.inOrder))
    return labelOf(isRise ? 1 : -1, 'deputy_of_same_title', 0.93)
  const wider = stepOfExtent(before, after)
  if (wider !== null) return wider
  const from = before.understood.rank
  const to = after.understood.rank
  const known = byLadder(before, after, from === null || to === null ? 0 : to - from)
  if (known !== null) return known
  return from === null || to === null
    ? withoutRank(before, after)
    : withRanks(before, after, to - from)
}

/**
 * "Technical Advisor" → "CTO", "Board Member" → "CEO": a person with a side role gets a post of the firm; nothing rose.
 */
function isIntoFirm({ understood: beside }: ReadTitle, { understood: post }: ReadTitle): boolean {
  if (post.isSideRole || post.isAdvisory) return false
  if (!beside.isSideRole) return beside.isAdvisory && post.level === 'cxo'
  return beside.level === 'cxo' || (post.rank ?? 0) >= rankRanges.director.lowest
}

/** "Machinist" → "Supervisory Board Member" is not a rise; "CEO" → "Board Member" steps down. */
function isOutOfFirm({ understood: post }: ReadTitle, { understood: beside }: ReadTitle): boolean {
  if (!beside.isSideRole || post.isSideRole || beside.level !== 'cxo') return false
  return (post.rank ?? 0) - (beside.rank ?? 0) < CLEAR_STEP
}

/** The same words, whatever their order, case, spelling, gender or language. */
function sameWords(before: ReadTitle, after: ReadTitle): ComparedTitles | null {
  // Nothing but signs, twice, says nothing.
  const isNothing = before.words.length === 0 && after.words.length === 0
  if (isNothing) return verdict('unclassified', 'no_words', 0)
  const isSame = before.normal === after.normal || isEqual(before.words, after.words)
  if (isSame) return verdict('retitle', 'same_words', 0.99)
  if (isTypingError(before.words, after.words)) return verdict('retitle', 'typing_error', 0.95)
  const isGender = isEqual(before.inOrder, after.inOrder, isOtherGender)
  if (isGender) return verdict('retitle', 'gender', 0.97)
  return isTranslation(before, after) ? verdict('retitle', 'translation', 0.95) : null
}

/**
 * The same job in two languages. "Leiter Einkauf" and "Purchasing Manager" may be one job although their levels are
 * not; between two languages other than English, words are too similar for that ("auxiliar", "assistente").
 */
function isTranslation(before: ReadTitle, after: ReadTitle): boolean {
  const from = before.job.language
  const to = after.job.language
  if (from === to) return false
  const step = Math.abs((after.understood.rank ?? 0) - (before.understood.rank ?? 0))
  const isKnown = before.understood.rank !== null && after.understood.rank !== null
  const isNear = step < (from === 'en' || to === 'en' ? STEP_OF_TRANSLATION : CLEAR_STEP)
  return (!isKnown || isNear) && isEqual(before.english, after.english)
}

const STANDS_FOR_ANOTHER = new Set([...roles.deputies, 'vice'])

/** Whether `before` is `after` with words such as "Assistant" or "Vice" in front. */
function isDeputyOf(before: readonly string[], after: readonly string[]): boolean {
  const from = before.findIndex((word) => !STANDS_FOR_ANOTHER.has(word) && word !== 'and')
  return from > 0 && isEqual(before.slice(from), after)
}

/**
 * A step on a ladder of a trade. Where it is uncertain that the firm uses the ladder, it counts only where the levels
 * say the opposite: from vice president to director is up at a bank, and down elsewhere. Firms announce rises far more
 * often than falls, so that either is called a rise.
 * @param rise how far the levels are apart
 */
function byLadder(before: ReadTitle, after: ReadTitle, rise: number): ComparedTitles | null {
  const step = stepOfLadders(before, after)
  if (step === null) return null
  if (step.isOfEvery) return labelOf(step.rise, 'step_of_ladder', 0.9)
  const isOpposed = Math.abs(rise) >= CLEAR_STEP && Math.sign(rise) !== Math.sign(step.rise)
  if (step.isSure && step.rise > 0) return labelOf(step.rise, 'step_of_ladder', 0.85)
  // Levels and a ladder that may be the firm's are right equally often.
  const decides = isOpposed && fallOfWordsOnly(before, after) === null
  return decides ? verdict('promotion', 'trade_decides', 0.5) : null
}

// The leader of a job stands above all who do it.
const GRADE_OF_LEADING = 10

function withoutRank(before: ReadTitle, after: ReadTitle): ComparedTitles {
  const step = stepOfLadder(before, after)
  if (step !== null) return step
  const isNamed = before.job.words.length > 0 && after.job.words.length > 0
  const isOneTime = before.isOfAnotherTime === after.isOfAnotherTime
  const isOneJob = isNamed && isOneTime && isEqual(before.job.words, after.job.words)
  if (!isOneJob) return verdict('unclassified', 'level_unknown', 0)
  // The level of an unknown job is unknown, but a grade of it is still above it.
  const rise = gradeOf(after.job) - gradeOf(before.job)
  if (rise !== 0) return labelOf(rise, 'grade_of_same_job', 0.85)
  return verdict('retitle', 'same_job', 0.85)
}

function gradeOf(job: Job): number {
  return job.grade + (job.leads ? GRADE_OF_LEADING : 0)
}

/** "L3" → "L4", "Band 6 Nurse" → "Band 7 Nurse": a step that is written, of one job. */
function stepOfLadder(before: ReadTitle, after: ReadTitle): ComparedTitles | null {
  const from = stepNamed(before.inOrder)
  const to = stepNamed(after.inOrder)
  if (from === null || from.ladder !== to?.ladder || from.value === to.value) return null
  if (!isSameJob(before, after)) return null
  return labelOf(to.value - from.value, 'step_of_ladder', 0.93)
}

function labelOf(rise: number, rule: string, confidence: number): ComparedTitles {
  return verdict(rise > 0 ? 'promotion' : 'demotion', rule, confidence)
}

function withRanks(before: ReadTitle, after: ReadTitle, rise: number): ComparedTitles {
  const isSame = isSameJob(before, after)
  const step = Math.abs(rise)
  const special =
    changeOfTrack(before, after) ??
    stepOfTrade(before, after, step < CLEAR_STEP ? 0 : rise) ??
    (isSame || rise > 0 ? null : fallOfWordsOnly(before, after))
  if (special !== null) return special
  if (step < CLEAR_STEP) {
    return (
      stepOfLadder(before, after) ??
      seniorOfSameJob(before, after, isSame) ??
      stepOfDeputy(before, after, isSame) ??
      stepOfRegion(before, after, isSame) ??
      atOneLevel(before, after, isSame)
    )
  }
  const crossed = before.understood.level !== after.understood.level
  const confidence = isOfHead(before, after) ? 0.6 : confidenceOfStep(step, crossed, isSame)
  return labelOf(rise, crossed ? 'level' : 'step_inside_level', confidence)
}

/** Whether a head of a field can be distinguished from a vice president of it: firms rank them in either order. */
function isOfHead(...titles: readonly ReadTitle[]): boolean {
  const levels = titles.map(({ understood }) => understood.level)
  return (
    levels.includes('vp') &&
    levels.includes('director') &&
    titles.some(({ inOrder }) => inOrder.includes('head'))
  )
}

/**
 * "Senior Financial Analyst" → "Finance Business Partner": another job that says no grade may be as senior as the one before. An
 * executive director stands above vice presidents in one firm, below them in the next.
 */
function fallOfWordsOnly(before: ReadTitle, after: ReadTitle): ComparedTitles | null {
  const isGradeLeftOut =
    before.understood.level === 'senior' &&
    before.job.grade > 0 &&
    after.understood.level === 'mid' &&
    after.job.grade === 0
  const isAssociate = isAssociateOfShop(after) && before.understood.level === 'mid'
  const isOfTwoLadders =
    before.understood.level === 'vp' && coreOf(after.job)?.endsWith('executive director') === true
  const isUnclear = isGradeLeftOut || isAssociate || isOfTwoLadders
  if (!isUnclear && !isOtherDirectorate(before, after)) return null
  return verdict('lateral', 'no_clear_fall', 0.6)
}

const OF_SHOPS = new Set(['sales', 'operations', 'supply_chain', 'customer_success'])

/** "Warehouse Associate", "Sales Associate": in shops and stores all are called so; "Research Associate" is a grade. */
function isAssociateOfShop({ understood, inOrder }: ReadTitle): boolean {
  const isGrade = understood.level === 'entry' && inOrder.at(-1) === 'associate'
  return isGrade && OF_SHOPS.has(understood.function)
}

function atOneLevel(before: ReadTitle, after: ReadTitle, isSame: boolean): ComparedTitles {
  const isWhole = isEqual(before.job.words, after.job.words)
  if (isSame) return verdict('retitle', 'same_job', isWhole ? 0.93 : 0.85)
  const isKnown = before.function !== null && after.function !== null
  return verdict('lateral', 'other_job', isKnown ? 0.9 : 0.6)
}

interface Place {
  readonly trade: number
  readonly name: string
  readonly step: number
}

/**
 * The steps of the trades on which a job stands (jobs between two strokes share a step), and jobs with a special form: "account
 * executive" of "enterprise account executive".
 */
const steps = kept(
  'places',
  () => {
    const places = new Map<string, Place[]>()
    for (const [trade, titles] of stepsOfTrades.entries()) {
      for (const [step, alike] of titles.entries()) {
        for (const title of alike.split('/')) {
          const name = nameOf(readJob(toEnglish(splitTitle(title))))
          places.set(name, [...(places.get(name) ?? []), { trade, name, step }])
        }
      }
    }
    return [...places]
  },
  (places) => ({
    places: new Map(places),
    general: new Set(places.map(([name]) => name.slice(name.indexOf(' ') + 1))),
  }),
)

function nameOf(job: Job): string {
  return coreOf(job) ?? ''
}

/** The places of a title, the one with most words first: "Account Executive, Enterprise" is an enterprise account executive. */
function placesOf({ job, english }: ReadTitle): readonly Place[] {
  const { places, general } = steps()
  const name = nameOf(job)
  const own = name === '' ? [] : (places.get(name) ?? [])
  return general.has(name)
    ? [...english.flatMap((word) => places.get(`${word} ${name}`) ?? []), ...own]
    : own
}

/**
 * Steps that levels miss or reverse: a registered nurse who becomes a nurse practitioner, a paralegal who becomes an
 * associate attorney.
 * @param rise how far the levels are apart
 */
function stepOfTrade(before: ReadTitle, after: ReadTitle, rise: number): ComparedTitles | null {
  if (before.job.language !== after.job.language) return null
  const ends = placesOf(after)
  for (const from of ends.length === 0 ? [] : placesOf(before)) {
    const to = ends.find(({ trade }) => trade === from.trade)
    if (to === undefined) continue
    const step = to.step - from.step
    if (step === 0 || Math.sign(step) === Math.sign(rise)) return null
    // A grade and a segment of the market weigh the same: "Senior Account Executive" → "Enterprise Account Executive".
    const isOfOneJob = from.name.endsWith(to.name) || to.name.endsWith(from.name)
    const isGraded = before.job.grade > 0 || after.job.grade > 0
    const isEven = rise !== 0 && isOfOneJob && isGraded
    if (isEven) return verdict('lateral', 'step_of_trade', 0.6)
    return labelOf(step, 'step_of_trade', 0.85)
  }
  return null
}

const POSTS_OF_A_WHOLE = new Set(['director', 'vp', 'cxo'])
// A firm has several of them, whatever place they name.
const HOLD_NO_POST = new Set(['founder', 'owner', 'partner', 'shareholder', 'board'])

/**
 * "CEO, France" → "CEO": who headed a country and then the whole rises. The other way may only say where the post was all
 * the time.
 */
function stepOfRegion(before: ReadTitle, after: ReadTitle, isSame: boolean): ComparedTitles | null {
  const isPost = [before, after].every(
    ({ understood, english }) =>
      POSTS_OF_A_WHOLE.has(understood.level) && !english.some((word) => HOLD_NO_POST.has(word)),
  )
  const isStep = isSame && isPost && isOfRegion(before) && isOfWhole(after)
  return isStep ? verdict('promotion', 'region_to_whole', 0.7) : null
}

function isOfRegion({ places }: ReadTitle): boolean {
  return places.length > 0 && places.every((place) => roles.regions.has(place))
}

function isOfWhole({ places, inOrder }: ReadTitle): boolean {
  return places.length === 0 && !inOrder.includes('regional')
}

// From the smallest.
const EXTENTS = [roles.of_an_area, roles.of_a_region, roles.of_a_nation, roles.of_the_world]

/** How large a part of the world a title names; null where it names none, or two. */
function extentOf({ english }: ReadTitle): number | null {
  const named = EXTENTS.filter((words) => english.some((word) => words.has(word)))
  const [only] = named
  return only === undefined || named.length > 1 ? null : EXTENTS.indexOf(only)
}

/** "Regional Sales Manager" → "National Sales Manager": the same job for more of the world. */
function stepOfExtent(before: ReadTitle, after: ReadTitle): ComparedTitles | null {
  const [from, to] = [extentOf(before), extentOf(after)]
  if (from === null || to === null || from === to) return null
  const isOneLevel = before.understood.level === after.understood.level
  const isOnePost = isOneLevel && before.job.deputy === after.job.deputy
  return isOnePost && isSameJob(before, after) ? labelOf(to - from, 'wider_extent', 0.85) : null
}

/** "Direktor Produktion" → "Bereichsleiter Vertrieb": shades of a director's level do not count between two fields. */
function isOtherDirectorate(before: ReadTitle, after: ReadTitle): boolean {
  const areDirectors = [before, after].every(({ understood }) => understood.level === 'director')
  const from = before.function?.function
  const to = after.function?.function
  const isGraded = before.job.grade !== 0 || after.job.grade !== 0
  return areDirectors && !isGraded && from !== undefined && to !== undefined && from !== to
}

/** "Care Assistant" → "Senior Care Assistant": one rank where the level is that of all assistants. */
function seniorOfSameJob(
  before: ReadTitle,
  after: ReadTitle,
  isSame: boolean,
): ComparedTitles | null {
  const rise = Number(after.english.includes('senior')) - Number(before.english.includes('senior'))
  const areEntry = before.understood.level === 'entry' && after.understood.level === 'entry'
  const isOneJob = isSame && areEntry && isEqual(before.job.words, after.job.words)
  return isOneJob && rise !== 0 ? labelOf(rise, 'grade_of_same_job', 0.85) : null
}

/** "Deputy Manager" → "Manager", "Interim Head of X" → "Head of X": a step where both have one rank. */
function stepOfDeputy(before: ReadTitle, after: ReadTitle, isSame: boolean): ComparedTitles | null {
  const isOnePost = before.job.leads || isEqual(before.job.words, after.job.words)
  if (!isSame || !isOnePost) return null
  const lift = after.job.deputy - before.job.deputy
  if (lift !== 0) return labelOf(lift, 'deputy_of_same_job', 0.8)
  const isActing = after.understood.isInterim
  if (before.job.deputy >= 0 || isActing === before.understood.isInterim) return null
  // "Deputy Warden" → "Acting Warden" rises; the way back is the end of an interim post.
  return isActing
    ? verdict('promotion', 'deputy_of_same_job', 0.8)
    : verdict('lateral', 'end_of_acting', 0.8)
}

// Measured on labelled pairs (test/titles/labelled), set a little lower where there were few.
function confidenceOfStep(step: number, crossed: boolean, isSame: boolean): number {
  if (isSame) return crossed ? 0.97 : 0.95
  if (step >= FAR_STEP) return 0.96
  return crossed ? 0.85 : 0.7
}

const EXPERT_LADDER = new Set(['principal', 'staff', 'distinguished', 'fellow'])

/**
 * Between leading people and the highest grades of an expert's ladder there is neither rise nor fall: engineering
 * manager ↔ staff or principal engineer. A lead or an architect who becomes a manager rises; the way back is not a
 * fall.
 */
function changeOfTrack(before: ReadTitle, after: ReadTitle): ComparedTitles | null {
  const isToExpert = before.understood.level === 'manager' && isExpert(after)
  if (isToExpert) return verdict('lateral', 'manager_to_expert', 0.85)
  const isHighExpert = isExpert(before) && before.words.some((word) => EXPERT_LADDER.has(word))
  const isToManager = isHighExpert && after.understood.level === 'manager'
  return isToManager ? verdict('lateral', 'expert_to_manager', 0.6) : null
}

function isExpert({ understood }: ReadTitle): boolean {
  return understood.level === 'lead' && understood.isManagement === false
}
